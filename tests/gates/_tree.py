"""What the gates share: the files of a tree, their syntax, their imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "ferrule"
CODE = ("src", "tests", "ci", "examples", "benches")
TEXT = (".md", ".py", ".toml", ".txt", ".sh", ".json", ".yml", ".yaml", ".wit", "")
GENERATED = frozenset({"__pycache__", ".git", ".venv", ".hypothesis", "node_modules", "build", "dist", "site"})


def plant(root: Path, files: Mapping[str, str]) -> Path:
    """Write `files` (relative path -> text) below `root`; returns `root`."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def clean(faults: list[str]) -> None:
    """Fail with every fault on a line of its own."""
    assert not faults, "\n" + "\n".join(faults)


def python_files(root: Path) -> list[Path]:
    """List the Python files below `root`, generated folders left out."""
    return [path for path in sorted(root.rglob("*.py")) if _kept(path.relative_to(root))]


def text_files(root: Path) -> list[Path]:
    """List the files a person reads, below `root`."""
    return [
        path
        for path in sorted(root.rglob("*"))
        if path.suffix in TEXT and _kept(path.relative_to(root)) and path.is_file()
    ]


def _kept(relative: Path) -> bool:
    if relative.parts[:1] == ("kit",) or relative.parts[:2] == ("benches", "kit"):
        return False  # the comparison kit keeps the form that it has for all peers
    return not any(part in GENERATED or part.endswith("_cache") for part in relative.parts)


def syntax(path: Path) -> ast.Module:
    """Parse one file."""
    return ast.parse(path.read_text(), str(path))


def at(root: Path, path: Path, line: int, what: str) -> str:
    """Format one finding."""
    return f"{path.relative_to(root).as_posix()}:{line} {what}"


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function and method, nested ones included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def dotted(node: ast.expr) -> str:
    """Return ``a.b.c`` for names and attributes, "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def module_name(package: Path, path: Path) -> str:
    """Return the dotted name of a file of the package at `package`."""
    parts = [package.name, *path.relative_to(package).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules(package: Path) -> dict[str, Path]:
    """Map the dotted name of every module of a package to its file."""
    return {module_name(package, path): path for path in python_files(package)}


def first_party(package: Path) -> dict[str, set[str]]:
    """Map every module to the modules of the package that it imports, anywhere in its file."""
    known = modules(package)
    graph: dict[str, set[str]] = {}
    for name, path in known.items():
        graph[name] = set()
        for node in ast.walk(syntax(path)):
            origin, *children = [*targets(node, name, is_package=path.name == "__init__.py"), ""]
            below = {child for child in children if child in known}
            names_only = isinstance(node, ast.ImportFrom) and len(below) == len(node.names)
            graph[name] |= below if names_only else below | ({origin} & known.keys())
    return graph


def targets(node: ast.AST, module: str, *, is_package: bool) -> list[str]:
    """List what an import statement may name: the module itself and each name as its child."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    origin = node.module or ""
    if node.level:
        here = module.split(".")
        above = here[: len(here) - node.level + (1 if is_package else 0)]
        origin = ".".join([*above, *([node.module] if node.module else [])])
    return [origin, *(f"{origin}.{alias.name}" for alias in node.names)]

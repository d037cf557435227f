"""Two import contracts of our own, for what import-linter's contracts cannot say.

`Siblings`: parts of one room do not import each other, files whose name begins
with ``_`` are shared. `Reach`: what rooms may never, or may only, import; a
room that does not exist yet is no error, so the law stands before the room.
"""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class _Listing(Contract):
    """A contract that lists its faults, one a line."""

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print what broke the contract."""
        for line in check.metadata["bad"]:
            output.print_error(line)


class Siblings(_Listing):
    """Adapters and families of one room stand alone; even the room's ``__init__`` may not join them."""

    type_name = "siblings"
    rooms = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Look at every import that leaves a part of a room for another part of it."""
        bad: list[str] = []
        for room in self.rooms:
            if room in graph.modules:
                bad += _between_parts(graph, room)
        return ContractCheck(kept=not bad, metadata={"bad": bad})


class Reach(_Listing):
    """Rooms that never import some modules, or import only some rooms; `indirect` follows chains."""

    type_name = "reach"
    rooms = fields.ListField(subfield=fields.StringField())
    never = fields.ListField(subfield=fields.StringField(), required=False)
    only = fields.ListField(subfield=fields.StringField(), required=False)
    indirect = fields.BooleanField(required=False, default=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Look at every module of every room that exists."""
        bad: list[str] = []
        for room in self.rooms:
            if room not in graph.modules:
                continue
            inside = {room, *graph.find_descendants(room)}
            bad += _outside_only(graph, inside, [room, *self.only]) if self.only else []
            for target in self.never or ():
                bad += _chains(graph, inside, target) if self.indirect else _direct(graph, inside, target)
        return ContractCheck(kept=not bad, metadata={"bad": bad})


def _between_parts(graph: ImportGraph, room: str) -> list[str]:
    bad: list[str] = []
    own = {m: part for part in graph.find_children(room) for m in {part, *graph.find_descendants(part)}}
    own[room] = room  # its __init__ may re-export shared names only, else it is a way round
    for module, part in sorted(own.items()):
        for target in sorted(graph.find_modules_directly_imported_by(module)):
            other = own.get(target, part)
            if other not in (part, room) and not other.rsplit(".", 1)[1].startswith("_"):
                bad.append(_import_line(graph, module, target))
    return bad


def _outside_only(graph: ImportGraph, inside: set[str], only: list[str]) -> list[str]:
    return [
        _import_line(graph, module, target)
        for module in sorted(inside)
        for target in sorted(graph.find_modules_directly_imported_by(module))
        if target.startswith("ferrule.") and not _below(target, only)
    ]


def _direct(graph: ImportGraph, inside: set[str], name: str) -> list[str]:
    return [
        _import_line(graph, module, target)
        for module in sorted(inside)
        for target in sorted(graph.find_modules_directly_imported_by(module))
        if _below(target, [name])
    ]


def _chains(graph: ImportGraph, inside: set[str], name: str) -> list[str]:
    targets = {m for m in graph.modules if _below(m, [name])}
    found: list[str] = []
    for module in sorted(inside):
        for target in sorted(targets):
            chain = graph.find_shortest_chain(module, target)
            if chain:
                found.append(" -> ".join(chain))
    return found


def _below(module: str, roots: list[str]) -> bool:
    return any(module == root or module.startswith(f"{root}.") for root in roots)


def _import_line(graph: ImportGraph, module: str, target: str) -> str:
    details = graph.get_import_details(importer=module, imported=target)
    line = details[0]["line_number"] if details else "?"
    return f"{module}:{line} imports {target}"

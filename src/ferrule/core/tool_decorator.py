"""``@tool``: a function becomes a tool; its annotations are the schema, its docstring the description."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, overload

import orjson

from ..ports.tool import ToolContext
from ..types.access import Action
from ..types.tools import ToolResult
from .schema_of import function_schema


class FunctionTool:
    """A tool made of a function. A plain function runs inline, so it should be quick; a coroutine is awaited."""

    def __init__(self, function: Callable[..., Any], *, name: str, needs: frozenset[Action]) -> None:
        self.name = name
        self.description = inspect.getdoc(function) or ""
        self.needs = needs
        self.input_schema = function_schema(function)
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self._function(*args, **kwargs)

    async def execute(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        """Call the function with validated arguments; what is not text becomes JSON, None becomes nothing."""
        value = self._function(**arguments)
        if type(value) is str:
            return ToolResult.text(value)
        if inspect.isawaitable(value):
            value = await value
        if isinstance(value, ToolResult):
            return value
        if isinstance(value, str):
            return ToolResult.text(str.__str__(value))  # of a subclass too, whatever it makes of itself
        return ToolResult.text("" if value is None else orjson.dumps(value, default=str).decode())


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...
@overload
def tool(
    function: Callable[..., Any] | None = None, /, *, name: str = "", needs: Iterable[Action] = ()
) -> Callable[[Callable[..., Any]], FunctionTool]: ...


def tool(
    function: Callable[..., Any] | None = None, /, *, name: str = "", needs: Iterable[Action] = ()
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Make a tool of a function, with or without arguments to the decorator.

    Args:
        name: The tool's name; the function's own when empty.
        needs: Which effects it has (see `Action`). By writing nothing you
            state that it touches no files, commands or network; the gate
            believes that of code that you put into your own program.

    Raises:
        UsageError: a parameter has no annotation that JSON can carry.
    """

    def make(function: Callable[..., Any]) -> FunctionTool:
        return FunctionTool(function, name=name or function.__name__, needs=frozenset(needs))

    return make if function is None else make(function)

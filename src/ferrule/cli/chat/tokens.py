"""Counts the tokens of a chat as its events go by."""

from __future__ import annotations

from dataclasses import dataclass

from ...types.events import AgentEvent, RequestStarted, UsageEvent
from ...types.usage import Usage


@dataclass(frozen=True, slots=True)
class Spent:
    """What one model has used: answers, and their tokens as far as the vendor told them."""

    answers: int = 0
    untold: int = 0
    usage: Usage = Usage()  # noqa: RUF009  # a frozen value


class TokenMeter:
    """Tokens by model since the chat began, and the size of the present context."""

    def __init__(self) -> None:
        self._models: dict[str, str] = {}
        self._spent: dict[str, Spent] = {}
        self.context: int | None = None

    @property
    def total(self) -> int:
        """All tokens, of all models, in both directions."""
        return sum(spent.usage.total for spent in self._spent.values())

    @property
    def spent(self) -> dict[str, Spent]:
        """What each model has used, in the order of their first answers."""
        return dict(self._spent)

    def note(self, event: AgentEvent) -> None:
        """Take one event in."""
        if isinstance(event, RequestStarted):
            self._models[event.request_id] = event.model or event.provider
        elif isinstance(event, UsageEvent):
            self._book(event)

    def forget_context(self) -> None:
        """The history is another one: its size is known after the next answer."""
        self.context = None

    def _book(self, event: UsageEvent) -> None:
        model = self._models.pop(event.request_id, "?")
        usage = Usage(input=event.input, cached=event.cached, output=event.output, reasoning=event.reasoning)
        untold = event.input is None or event.output is None
        before = self._spent.get(model, Spent())
        self._spent[model] = Spent(before.answers + 1, before.untold + untold, before.usage + usage)
        self.context = None if event.input is None else usage.total


def cost_lines(meter: TokenMeter) -> list[str]:
    """Say what was used, by model; no prices, since none are known."""
    if not meter.spent:
        return ["no tokens have been used in this chat"]
    lines = []
    for model, spent in meter.spent.items():
        usage = spent.usage
        lines.append(f"{model}: {spent.answers:,} {'answer' if spent.answers == 1 else 'answers'}")
        lines.append(f"  sent {usage.input or 0:,} tokens, {usage.cached:,} of them from the vendor's cache")
        lines.append(f"  received {usage.output or 0:,} tokens, {usage.reasoning:,} of them reasoning")
        if spent.untold:
            lines.append(f"  not counted, since the vendor did not say: {spent.untold:,}")
    lines.append(f"in all {meter.total:,} tokens since this chat began; prices are not known in this version")
    return lines


def status_line(who: str, meter: TokenMeter) -> str:
    """Say in one line who answers, by which rules, and how many tokens there are.

    Args:
        who: Agent, model and the gate's label.
        meter: The tokens so far.
    """
    if not meter.spent:
        return who
    context = "" if meter.context is None else f"{meter.context:,} tokens of context, "
    return f"{who}, {context}{meter.total:,} tokens in all"

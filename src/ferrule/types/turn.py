"""What `send` gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .events import ErrorInfo, TurnStatus
from .usage import Usage

SILENT = "The model ended its turn without saying anything."


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """The outcome of one turn; made for every outcome, also for failures.

    Attributes:
        status: completed, rejected, interrupted, cancelled, failed or limit.
        text: The final visible text; what was said so far when the turn did not complete.
        error: What went wrong; None when the turn completed.
        rounds: Model requests made.
        usage: Tokens and money of the turn.
        denied: Codes of the rules that denied a call during the turn, in order.
        output: The answer in the form that was asked for: an instance of the dataclass, or the document that follows the
            schema; None without a form, or when no such answer came.
    """

    status: TurnStatus
    session_id: str
    turn_id: str
    text: str = ""
    error: ErrorInfo | None = None
    rounds: int = 0
    usage: Usage = field(default_factory=Usage)
    denied: tuple[str, ...] = ()
    output: Any = None

    @property
    def outcome(self) -> str:
        """What a person reads: the final text, or a sentence that says why there is none; never empty.

        >>> TurnResult(status="completed", session_id="s", turn_id="t").outcome
        'The model ended its turn without saying anything.'
        """
        if self.status == "completed":
            return self.text if self.text.strip() else SILENT
        if self.error is None:
            return f"The turn ended: {self.status}."
        return f"{self.error.message} ({self.error.hint})" if self.error.hint else self.error.message

"""What all turns of one agent share."""

from __future__ import annotations

from dataclasses import dataclass

from ..ports.provider import Provider
from ..types.completion import ModelOptions
from .conversation import Conversation
from .dispatch import Dispatcher
from .hooks import HookTable
from .options import AgentOptions
from .toolset import Toolbox


@dataclass(slots=True, kw_only=True)
class AgentParts:
    """An agent, taken apart."""

    provider: Provider
    model: str
    toolbox: Toolbox
    dispatcher: Dispatcher
    hooks: HookTable
    conversation: Conversation
    options: AgentOptions
    model_options: ModelOptions

    def around(self, conversation: Conversation) -> AgentParts:
        """Return the same parts with another conversation."""
        return AgentParts(
            provider=self.provider,
            model=self.model,
            toolbox=self.toolbox,
            dispatcher=self.dispatcher,
            hooks=self.hooks,
            conversation=conversation,
            options=self.options,
            model_options=self.model_options,
        )

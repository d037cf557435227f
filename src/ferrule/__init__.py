"""Ferrule: a self-hosted AI-agent runtime whose parts are swappable and whose rules are enforced at one gate.

The public face. Names are loaded on first use, so ``import ferrule.types``
loads nothing else.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # read by type checkers, as if it were `typing`'s own, which takes a third of a start to import
if TYPE_CHECKING:
    from .app.embed import OpenAI as OpenAI
    from .app.embed import Sessions as Sessions
    from .app.gate import Gate as Gate
    from .core.agent import Agent as Agent
    from .core.options import AgentOptions as AgentOptions
    from .core.tool_decorator import tool as tool
    from .policy.agent_policy import Bounds as Bounds
    from .ports.adapter import Adapter as Adapter
    from .ports.adapter import Parts as Parts
    from .ports.gate import Approver as Approver
    from .ports.memory import MemoryStore as MemoryStore
    from .ports.provider import Provider as Provider
    from .ports.session import SessionKey as SessionKey
    from .ports.tool import Tool as Tool
    from .ports.tool import ToolContext as ToolContext
    from .ports.tool import ToolSource as ToolSource
    from .types.access import NOBODY as NOBODY
    from .types.access import Access as Access
    from .types.access import ApprovalAnswer as ApprovalAnswer
    from .types.access import ApprovalRequest as ApprovalRequest
    from .types.capability import Grant as Grant
    from .types.completion import Completion as Completion
    from .types.completion import ModelOptions as ModelOptions
    from .types.completion import Request as Request
    from .types.errors import FerruleError as FerruleError
    from .types.errors import PolicyDenied as PolicyDenied
    from .types.errors import ProviderError as ProviderError
    from .types.errors import ToolError as ToolError
    from .types.events import AgentEvent as AgentEvent
    from .types.limits import Limits as Limits
    from .types.memory import MemoryEntry as MemoryEntry
    from .types.messages import Message as Message
    from .types.tools import ToolCall as ToolCall
    from .types.tools import ToolResult as ToolResult
    from .types.turn import TurnResult as TurnResult
    from .types.usage import Usage as Usage

__version__ = "0.1.0"

_FACE: dict[str, str] = {
    "Access": "ferrule.types.access",
    "Adapter": "ferrule.ports.adapter",
    "Agent": "ferrule.core.agent",
    "AgentEvent": "ferrule.types.events",
    "AgentOptions": "ferrule.core.options",
    "ApprovalAnswer": "ferrule.types.access",
    "ApprovalRequest": "ferrule.types.access",
    "Approver": "ferrule.ports.gate",
    "Bounds": "ferrule.policy.agent_policy",
    "Completion": "ferrule.types.completion",
    "FerruleError": "ferrule.types.errors",
    "Gate": "ferrule.app.gate",
    "Grant": "ferrule.types.capability",
    "Limits": "ferrule.types.limits",
    "MemoryEntry": "ferrule.types.memory",
    "MemoryStore": "ferrule.ports.memory",
    "Message": "ferrule.types.messages",
    "ModelOptions": "ferrule.types.completion",
    "NOBODY": "ferrule.types.access",
    "OpenAI": "ferrule.app.embed",
    "Parts": "ferrule.ports.adapter",
    "PolicyDenied": "ferrule.types.errors",
    "Provider": "ferrule.ports.provider",
    "ProviderError": "ferrule.types.errors",
    "Request": "ferrule.types.completion",
    "SessionKey": "ferrule.ports.session",
    "Sessions": "ferrule.app.embed",
    "Tool": "ferrule.ports.tool",
    "ToolCall": "ferrule.types.tools",
    "ToolContext": "ferrule.ports.tool",
    "ToolError": "ferrule.types.errors",
    "ToolResult": "ferrule.types.tools",
    "ToolSource": "ferrule.ports.tool",
    "TurnResult": "ferrule.types.turn",
    "Usage": "ferrule.types.usage",
    "tool": "ferrule.core.tool_decorator",
}

__all__ = [
    "NOBODY",
    "Access",
    "Adapter",
    "Agent",
    "AgentEvent",
    "AgentOptions",
    "ApprovalAnswer",
    "ApprovalRequest",
    "Approver",
    "Bounds",
    "Completion",
    "FerruleError",
    "Gate",
    "Grant",
    "Limits",
    "MemoryEntry",
    "MemoryStore",
    "Message",
    "ModelOptions",
    "OpenAI",
    "Parts",
    "PolicyDenied",
    "Provider",
    "ProviderError",
    "Request",
    "SessionKey",
    "Sessions",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "ToolSource",
    "TurnResult",
    "Usage",
    "tool",
]


def __getattr__(name: str) -> object:
    module = _FACE.get(name)
    if module is None:
        raise AttributeError(f"module 'ferrule' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value

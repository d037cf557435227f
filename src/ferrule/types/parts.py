"""Pieces of a message's content."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """Plain text; never empty in a message that is sent."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePart:
    """An image: inline bytes, or the address where the vendor may fetch it.

    Attributes:
        media_type: For example ``image/png``.
        data: The encoded image; empty when `url` is given.
        url: An http(s) address; empty when `data` is given.
    """

    media_type: str
    data: bytes = b""
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """A document handed to the model with its name and type."""

    name: str
    media_type: str
    data: bytes


Part = TextPart | ImagePart | FilePart

"""The head of a GGUF file: enough to say what a model is, and whether its file is whole, without loading it.

The layout is that of the GGUF specification, versions 2 and 3: magic,
version, number of tensors, number of keys, the keys with typed values, then
name, shape, kind and offset of each tensor.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from ...types.errors import ConfigError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
STRING, ARRAY = 8, 9
SCALARS: Mapping[int, str] = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
"""Value types of one size, as `struct` writes them."""

LONGEST_TEXT = 1 << 20
"""Bytes of a text that is kept: a chat template is long, but not longer."""

MOST_ENTRIES = 1 << 17
"""Keys or tensors that a model may have; more are a damaged file."""

NO_CHAT = frozenset({"bert", "nomic-bert", "jina-bert-v2", "clip", "t5encoder"})
"""Architectures that the engine loads and that cannot hold a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What a model's file says about it.

    Attributes:
        path: The file.
        architecture: ``general.architecture``.
        title: ``general.name``, or the file's name.
        trained_context: Tokens of context that the model was trained for; 0 when the file does not say.
        template: Its chat template; "" when it has none.
    """

    path: Path
    architecture: str
    title: str
    trained_context: int = 0
    template: str = field(default="", repr=False)

    @property
    def reads_tools(self) -> bool:
        """Whether the model's own template has a place for tools."""
        return "tools" in self.template


def read_facts(path: Path, named: str) -> ModelFacts:
    """Read the head of a model's file.

    Args:
        path: The file.
        named: Who names it, for the error: ``[providers.local.main] model``.

    Raises:
        ConfigError: there is no such file, it cannot be read, is no GGUF file, or is not whole.
    """
    try:
        with _opened(path, named) as file:
            return _facts(path, file)
    except _Damaged as damage:
        raise _unusable(
            f"{named}: {path} {damage}", "download the file again and compare its size with the one at its source"
        ) from None
    except OSError as error:
        raise _unusable(
            f"{named}: {path} cannot be read: {error.strerror}", "correct the path or its permissions"
        ) from None


class _Damaged(Exception):
    """The file is not what its beginning promises."""


def _unusable(text: str, hint: str) -> ConfigError:
    return ConfigError(text, hint=hint, code="provider.model_file")


def _opened(path: Path, named: str) -> BinaryIO:
    """Open a file and judge its first bytes.

    Raises:
        ConfigError: it is missing, no regular file, or not in this format.
        OSError: it cannot be opened.
    """
    try:
        facts = path.stat()
    except FileNotFoundError:
        raise _unusable(f"{named}: there is no file {path}", "correct the path of the model") from None
    if not stat.S_ISREG(facts.st_mode):
        what = "a folder" if stat.S_ISDIR(facts.st_mode) else "no regular file"
        raise _unusable(f"{named}: {path} is {what}", "name the .gguf file itself")
    file = path.open("rb")
    head = file.read(8)
    if len(head) == 8 and head[:4] == MAGIC and struct.unpack("<I", head[4:])[0] in VERSIONS:
        return file
    file.close()
    raise _unusable(f"{named}: {path} {_what_it_is(head)}", "name a file in GGUF format, version 2 or 3")


def _what_it_is(head: bytes) -> str:
    if not head:
        return "is empty"
    if head[:4] != MAGIC:
        return f"is no GGUF file: it begins with {head[:4]!r}"
    if len(head) < 8:
        return "is no GGUF file: it ends after its first bytes"
    if struct.unpack(">I", head[4:])[0] in VERSIONS:
        return "is a GGUF file for machines with the other byte order"
    return f"is a GGUF file of version {struct.unpack('<I', head[4:])[0]}"


def _facts(path: Path, file: BinaryIO) -> ModelFacts:
    reader = _Reader(file)
    tensors, entries = reader.number("<Q"), reader.number("<Q")
    if tensors > MOST_ENTRIES or entries > MOST_ENTRIES:
        raise _Damaged("is damaged: its head counts more parts than any model has")
    keys: dict[str, object] = {}
    for _ in range(entries):
        name = reader.text()
        keys[name] = reader.value(reader.number("<I"))
    reader.check_tensors(tensors, keys.get("general.alignment"))
    architecture = keys.get("general.architecture")
    if not isinstance(architecture, str) or not architecture:
        raise _Damaged("names no architecture, so it is no model")
    if architecture in NO_CHAT:
        raise _Damaged(f"is a model of the architecture {architecture}, which cannot hold a conversation")
    title, context = keys.get("general.name"), keys.get(f"{architecture}.context_length")
    template = keys.get("tokenizer.chat_template")
    return ModelFacts(
        path=path,
        architecture=architecture,
        title=title.strip() if isinstance(title, str) and title.strip() else path.stem,
        trained_context=context if type(context) is int and context > 0 else 0,
        template=template if isinstance(template, str) else "",
    )


class _Reader:
    """Reads values from a file; nothing that the file says makes it read or keep more than the file holds."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size

    def number(self, form: str) -> int:
        return int(self._scalar(form))

    def text(self) -> str:
        length = self.number("<Q")
        if length > LONGEST_TEXT:
            self._skip(length)
            return ""
        return self._take(length).decode("utf-8", "replace")

    def value(self, kind: int) -> object:
        """Read a value; of an array only the end is looked for."""
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            self._pass_array()
            return None
        if kind not in SCALARS:
            raise _Damaged(f"is damaged: it holds a value of the unknown type {kind}")
        return self._scalar(SCALARS[kind])

    def check_tensors(self, count: int, alignment: object) -> None:
        """Pass the list of tensors; each must begin inside the file."""
        last = -1
        for _ in range(count):
            self._skip(self.number("<Q"))
            self._skip(8 * self.number("<I"))
            self._skip(4)
            last = max(last, self.number("<Q"))
        step = alignment if type(alignment) is int and alignment > 0 else 32
        begin = -(-self._file.tell() // step) * step
        if begin + last >= self._size:
            raise _Damaged(
                f"is not whole: it has {self._size:,} bytes, and its last part begins at byte {begin + last:,}"
            )

    def _pass_array(self) -> None:
        kind, length = self.number("<I"), self.number("<Q")
        if kind in SCALARS:
            self._skip(length * struct.calcsize(SCALARS[kind]))
        elif kind == STRING:
            for _ in range(length):  # ends at the end of the file at the latest
                self._skip(self.number("<Q"))
        else:
            raise _Damaged("is damaged: it holds a list of lists")

    def _scalar(self, form: str) -> int | float | bool:
        found: int | float | bool = struct.unpack(form, self._take(struct.calcsize(form)))[0]
        return found

    def _take(self, length: int) -> bytes:
        data = self._file.read(length)
        if len(data) < length:
            raise _Damaged("is not whole: it ends inside its head")
        return data

    def _skip(self, length: int) -> None:
        if length < 1 << 12:
            self._take(length)
        elif self._file.tell() + length > self._size:
            raise _Damaged("is not whole: it ends inside its head")
        else:
            self._file.seek(length, os.SEEK_CUR)

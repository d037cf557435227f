"""A model's file is judged by its head, and a damaged one is named as such."""

from __future__ import annotations

import os
import struct
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.providers.local.engine import Engine
from ferrule.providers.local.faults import load_fault
from ferrule.providers.local.gguf import read_facts
from ferrule.providers.local.weights import find_weights, placed, window
from ferrule.types.errors import ConfigError

NAMED = "[providers.local.main] model"


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def head(*, architecture: str = "llama", offset: int = 0, body: bytes = b"x" * 64) -> bytes:
    """Write a file with three keys, a list of texts, and one tensor at `offset` of its data."""
    keys = [
        text("general.architecture") + struct.pack("<I", 8) + text(architecture),
        text(f"{architecture}.context_length") + struct.pack("<II", 4, 4096),
        text("tokenizer.chat_template") + struct.pack("<I", 8) + text("{% if tools %}{% endif %}"),
        text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b"),
    ]
    tensor = text("output.weight") + struct.pack("<I", 1) + struct.pack("<QIQ", 16, 0, offset)
    written = b"GGUF" + struct.pack("<IQQ", 3, 1, len(keys)) + b"".join(keys) + tensor
    return written + b"\0" * (-len(written) % 32) + body


def refusal(path: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        read_facts(path, NAMED)
    assert caught.value.code == "provider.model_file"
    assert caught.value.hint
    assert NAMED in str(caught.value)
    return caught.value


def test_a_head_says_what_the_model_is(tmp_path: Path) -> None:
    path = tmp_path / "small.gguf"
    path.write_bytes(head())
    facts = read_facts(path, NAMED)
    assert (facts.architecture, facts.trained_context, facts.title, facts.reads_tools) == ("llama", 4096, "small", True)


def test_the_packaged_model_is_read() -> None:
    facts = read_facts(find_weights(), NAMED)
    assert (facts.architecture, facts.trained_context, facts.reads_tools) == ("llama", 8192, False)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"<html>not found</html>", "is no GGUF file: it begins with b'<htm'"),
        (b"GGUF", "ends after its first bytes"),
        (b"GGUF" + struct.pack("<I", 1) + bytes(16), "of version 1"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(16), "the other byte order"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 40), "counts more parts"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 0) + bytes(64), "names no architecture"),
        (head(architecture="bert"), "cannot hold a conversation"),
        (head()[:90], "ends inside its head"),
        (head(offset=1 << 30), "its last part begins at byte"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_reason(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    assert said in str(refusal(path))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    assert "is a folder" in str(refusal(tmp_path))
    assert "there is no file" in str(refusal(tmp_path / "none.gguf"))
    os.mkfifo(tmp_path / "pipe")
    assert "no regular file" in str(refusal(tmp_path / "pipe"))
    assert "cannot be read" in str(refusal(tmp_path / ("x" * 300)))


@given(st.data())
def test_a_damaged_head_is_read_or_refused_by_no_other_error(data: st.DataObject) -> None:
    whole = bytearray(head())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(8, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"
        path.write_bytes(whole[: data.draw(st.integers(8, len(whole)))])
        with suppress(ConfigError):
            read_facts(path, NAMED)


@pytest.mark.parametrize(
    ("change", "said"),
    [(lambda whole: whole.replace(b"llama", b"llamx"), "does not know the architecture 'llamx'"),
     (lambda whole: whole[: len(whole) - 40_000], "is damaged or not whole")],
    ids=["architecture", "cut in the last part"],
)  # fmt: skip
async def test_what_the_engine_cannot_load_is_refused_with_its_reason(
    tmp_path: Path, change: object, said: str
) -> None:
    path = tmp_path / "m.gguf"
    assert callable(change)
    path.write_bytes(change(find_weights().read_bytes()))
    engine = Engine(path, context=256, named="local.main")
    try:
        with pytest.raises(ConfigError, match=said) as caught:
            await engine.complete({"prompt": "x", "max_tokens": 1})
        assert caught.value.hint
    finally:
        await engine.close()
    path.unlink()


def test_a_missing_package_is_named_with_its_extra() -> None:
    fault = load_fault("local.main", Path("m.gguf"), {"kind": "package", "text": "no xllamacpp"}, ())
    assert fault.code == "provider.not_installed"
    assert "ferrule[local]" in str(fault.hint)
    other = load_fault("local.main", Path("m.gguf"), {"kind": "load", "text": "no"}, ("failed to allocate buffer",))
    assert "smaller" in str(other.hint)


def test_a_path_starts_at_the_state_directory_or_at_home() -> None:
    assert placed("a/m.gguf", "/state") == Path("/state/a/m.gguf")
    assert placed("/m.gguf", "/state") == Path("/m.gguf")
    assert placed("~/m.gguf", "/state") == Path("~/m.gguf").expanduser()


def test_the_window_is_what_was_asked_or_what_is_usual() -> None:
    assert window(None, 4_096, 8_192, "x") == 4_096
    assert window(None, 0, 8_192, "x") == 8_192
    assert window(300, 4_096, 8_192, "x") == 300
    with pytest.raises(ConfigError, match="trained"):
        window(5_000, 4_096, 8_192, "x")

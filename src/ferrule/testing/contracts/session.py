"""Laws of `SessionStore`. Subclass, and supply the `store` fixture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ...ports.session import SessionKey, SessionStore
from ...types.errors import SessionBusy, StoreError
from ...types.messages import Message
from ...types.tools import ToolCall

KEY = SessionKey(agent="default", person="ann", audience="room")


def said(text: str, *, id: str = "m") -> Message:
    """Make a message of a person."""
    return Message(id=id, role="user", text=text, at_ms=1)


def answered(text: str, *, id: str = "a") -> Message:
    """Make a message of a model."""
    return Message(id=id, role="assistant", text=text, origin="model", at_ms=2)


async def kept(store: SessionStore, *messages: Message, key: SessionKey = KEY) -> str:
    """Keep a session that is not in use; returns its id."""
    session = await store.open(key)
    await session.append(messages)
    await session.close()
    return session.id


async def texts(store: SessionStore, session_id: str) -> list[str]:
    """Return what a session holds."""
    return [message.text for message in await store.read(session_id)]


HARD_QUERIES = (
    *("plan:blue", 'she wrote "ok', "tea AND", "(draft", "re-index", "Anna's", "*", "^a", "NEAR(", "", "a' OR 1=1 --"),
    *("\0", "a\0b", "x" * 10_000, "% _", "\ud83d", '"', "a NOT b", "col:", "{a b}:c", "-x", "+ +", "\\"),
)
FOUND_IN_EVERY_SCRIPT = (
    *(("昨晚我们讨论了预算表", "预算"), ("昨晚我们讨论了预算表", "表"), ("来週の花見は中止になった", "花見")),
    *(("来週の花見は中止になった", "来週"), ("오늘 회의에서 예산을 정했다", "예산"), ("ประชุมเรื่องงบประมาณ", "งบประมาณ")),
    *(("call get_user_by_id now", "user_by"), ("parseHttpHeader", "httphead"), ("Straße nach Łódź", "łódź")),
    *(
        ("cafe\u0301 noir", "caf\u00e9"),
        ("ÄÖ", "äö"),
        ("a well-known plan: blue", "plan:blue"),
        ("It is Anna's", "anna's"),
    ),
    *(
        ("a 🌧 day", "🌧"),
        ("use C++ here", "C++"),
        ("say 'tea and cake'", "tea AND"),
        ("x == y", "=="),
        ("draft two", "(draft"),
    ),
)


@pytest.mark.contract
class SessionStoreContract:
    """What every session store promises."""

    async def test_messages_come_back_in_the_order_they_were_appended(self, store: SessionStore) -> None:
        session = await store.open(KEY)
        await session.append([said("one"), said("two")])
        await session.append([said("three")])
        await session.close()
        assert [m.text for m in await store.read(session.id)] == ["one", "two", "three"]
        again = await store.open(SessionKey(agent="default", id=session.id))
        assert [m.text for m in again.messages] == ["one", "two", "three"]
        await again.close()

    async def test_a_session_has_one_holder(self, store: SessionStore) -> None:
        session = await store.open(KEY)
        await session.append([said("one")])
        with pytest.raises(SessionBusy):
            await store.open(SessionKey(agent="default", id=session.id))
        await session.close()
        await session.close()
        again = await store.open(SessionKey(agent="default", id=session.id))
        await again.close()

    async def test_a_closed_session_takes_nothing(self, store: SessionStore) -> None:
        session = await store.open(KEY)
        await session.append([said("one")])
        await session.close()
        with pytest.raises(StoreError):
            await session.append([said("two")])
        assert len(await store.read(session.id)) == 1

    async def test_a_session_that_does_not_exist_is_named(self, store: SessionStore) -> None:
        with pytest.raises(StoreError, match="ses_none"):
            await store.open(SessionKey(agent="default", id="ses_none"))
        with pytest.raises(StoreError, match="ses_none"):
            await store.read("ses_none")

    async def test_a_session_without_messages_leaves_nothing_behind(self, store: SessionStore) -> None:
        session = await store.open(KEY)
        await session.append([])
        await session.close()
        assert list(await store.list()) == []

    async def test_the_list_names_the_last_changed_first_with_its_title(self, store: SessionStore) -> None:
        for text in ("first question", "second question"):
            session = await store.open(KEY)
            await session.append([said(text), said("more")])
            await session.close()
        listed = await store.list(limit=1)
        assert [(f.title, f.messages, f.person, f.audience) for f in listed] == [("second question", 2, "ann", "room")]
        assert list(await store.list(agent="other")) == []

    async def test_a_call_that_was_begun_and_not_answered_is_interrupted(self, store: SessionStore) -> None:
        calls = (ToolCall(id="c1", name="shell", arguments={}), ToolCall(id="c2", name="shell", arguments={}))
        session = await store.open(KEY)
        await session.intend([said("go"), Message(id="a", role="assistant", calls=calls)], calls)
        await session.append([Message(id="t", role="tool", call_id="c1", name="shell", text="done")])
        await session.close()
        again = await store.open(SessionKey(agent="default", id=session.id))
        assert [call.id for call in again.interrupted] == ["c2"]
        await again.append([Message(id="t2", role="tool", call_id="c2", name="shell", text="unknown")])
        assert list(again.interrupted) == []
        await again.close()
        third = await store.open(SessionKey(agent="default", id=session.id))
        assert list(third.interrupted) == []
        await third.close()

    async def test_a_call_in_doubt_has_the_arguments_it_was_to_run_with(self, store: SessionStore) -> None:
        wrote = ToolCall(id="c1", name="shell", arguments={"command": "make"}, raw='{"command": "make"}')
        runs = replace(wrote, arguments={"command": "make -n", "more": ["\ud83d", None, 1.5]}, raw="")
        plain = ToolCall(id="c2", name="shell", arguments={"command": "ls"})
        session = await store.open(KEY)
        await session.append([said("go"), Message(id="a", role="assistant", calls=(wrote, plain))])
        await session.intend([], [runs])
        await session.intend([], [plain])
        await session.close()
        branch = await store.branch(session.id)
        for one in (session.id, branch.id):
            again = await store.open(SessionKey(agent="default", id=one))
            assert [call.arguments.get("command") for call in again.interrupted] == ["make -n", "ls"]
            assert [call.arguments["command"] for call in again.messages[1].calls] == ["make", "ls"]
            await again.close()

    async def test_a_session_is_found_by_the_beginning_of_its_id(self, store: SessionStore) -> None:
        first, second = await kept(store, said("one")), await kept(store, said("two"))
        assert (await store.find(second)).title == "two"
        with pytest.raises(StoreError, match="more than one") as caught:
            await store.find("ses_")
        assert (caught.value.code, first in str(caught.value.hint)) == ("session.ambiguous", True)
        await store.delete(first)
        assert (await store.find("ses_")).id == second
        for nothing in ("", "nobody", "\ud83d", "../x", "%", "a\0b"):
            with pytest.raises(StoreError) as missing:
                await store.find(nothing)
            assert missing.value.code == "session.missing"

    async def test_a_search_finds_messages_that_hold_all_words(self, store: SessionStore) -> None:
        one = await kept(store, said("The blue plan of Anna", id="m1"), answered("A red plan", id="m2"))
        other = await kept(store, said("plan nothing", id="m3"), key=SessionKey(agent="other"))
        assert {hit.message_id for hit in await store.search("plan")} == {"m1", "m2", "m3"}
        (hit,) = await store.search("PLAN blue")
        assert (hit.session_id, hit.message_id, hit.role, hit.agent) == (one, "m1", "user", "default")
        assert (hit.snippet, hit.title, hit.at_ms) == ("The blue plan of Anna", "The blue plan of Anna", 1)
        assert [hit.session_id for hit in await store.search("plan", agent="other")] == [other]
        assert len(await store.search("plan", limit=2)) == 2
        assert list(await store.search("plan green")) == []

    async def test_a_search_sees_what_was_added_since_the_last_one(self, store: SessionStore) -> None:
        session = await store.open(KEY)
        await session.append([said("first", id="m1")])
        assert len(await store.search("second")) == 0
        await session.append([said("second", id="m2")])
        assert [hit.message_id for hit in await store.search("second")] == ["m2"]
        await session.close()

    @pytest.mark.parametrize("query", HARD_QUERIES)
    async def test_no_query_is_an_error(self, store: SessionStore, query: str) -> None:
        await kept(store, said("plain words"))
        await store.search(query, agent=query[:3])
        assert isinstance(await store.search(query), Sequence)

    @pytest.mark.parametrize(("text", "query"), FOUND_IN_EVERY_SCRIPT)
    async def test_words_are_found_in_every_script_and_inside_others(
        self, store: SessionStore, text: str, query: str
    ) -> None:
        await kept(store, said("something else"), said(text, id="it"), answered("more"))
        assert [hit.message_id for hit in await store.search(query)] == ["it"]

    async def test_calls_of_tools_are_found_by_their_arguments(self, store: SessionStore) -> None:
        call = ToolCall(id="c", name="file_read", arguments={"path": "notes/budget.txt", "more": [{"n": 71}]})
        await kept(store, said("go"), Message(id="a", role="assistant", calls=(call,)))
        assert [hit.message_id for hit in await store.search("budget.txt")] == ["a"]
        assert [hit.message_id for hit in await store.search("file_read 71")] == ["a"]

    async def test_a_branch_shares_the_history_up_to_a_message_and_leaves_the_other_alone(
        self, store: SessionStore
    ) -> None:
        session = await store.open(KEY)
        await session.append([said("one", id="m1"), answered("two", id="m2"), said("three", id="m3")])
        whole, part = await store.branch(session.id), await store.branch(session.id, at="m2", agent="other")
        assert await texts(store, whole.id) == ["one", "two", "three"]
        assert await texts(store, part.id) == ["one", "two"]
        assert (whole.agent, part.agent, part.person, part.audience) == ("default", "other", "ann", "room")
        assert (part.title, part.messages) == ("one", 2)
        await session.append([answered("four")])
        branch = await store.open(SessionKey(agent="other", id=part.id))
        await branch.append([said("five")])
        await branch.close()
        await session.close()
        assert await texts(store, session.id) == ["one", "two", "three", "four"]
        assert await texts(store, part.id) == ["one", "two", "five"]
        with pytest.raises(StoreError, match="m9"):
            await store.branch(session.id, at="m9")
        assert len(await store.list()) == 3

    async def test_a_branch_never_splits_calls_from_their_results_and_tells_of_those_without(
        self, store: SessionStore
    ) -> None:
        calls = (ToolCall(id="c1", name="shell", arguments={}), ToolCall(id="c2", name="shell", arguments={}))
        session = await store.open(KEY)
        await session.intend([said("go"), Message(id="a1", role="assistant", calls=calls)], calls)
        await session.append([Message(id="t1", role="tool", call_id="c1", text="done")])
        branch = await store.open(SessionKey(agent="default", id=(await store.branch(session.id, at="a1")).id))
        assert [message.id for message in branch.messages] == ["m", "a1", "t1"]
        assert [call.id for call in branch.interrupted] == ["c2"]
        await branch.close()
        await session.close()

    async def test_taken_messages_make_a_session_of_their_own(self, store: SessionStore) -> None:
        facts = await store.take(KEY, [said("from elsewhere"), answered("yes")])
        assert [listed.id for listed in await store.list()] == [facts.id]
        assert await texts(store, facts.id) == ["from elsewhere", "yes"]
        with pytest.raises(StoreError):
            await store.take(KEY, [])
        assert len(await store.list()) == 1

    async def test_an_undo_takes_back_turns_and_a_redo_returns_them(self, store: SessionStore) -> None:
        one = await kept(store, said("one"), answered("two"), said("three"), answered("four"), said("five"))
        change = await store.undo(one, 2)
        assert (change.turns, change.messages) == (2, 3)
        assert await texts(store, one) == ["one", "two"]
        assert [facts.messages for facts in await store.list()] == [2]
        assert list(await store.search("three")) == []
        assert (await store.redo(one)).messages == 3
        assert await texts(store, one) == ["one", "two", "three", "four", "five"]
        assert len(await store.search("three")) == 1

    async def test_undo_and_redo_go_step_by_step(self, store: SessionStore) -> None:
        one = await kept(store, said("one"), said("two"), said("three"))
        for left in (["one", "two"], ["one"], []):
            await store.undo(one)
            assert await texts(store, one) == left
        assert (await store.list())[0].title == ""
        for left in (["one"], ["one", "two"], ["one", "two", "three"]):
            assert (await store.redo(one)).turns == 1
            assert await texts(store, one) == left
        assert (await store.list())[0].title == "one"

    async def test_what_was_taken_back_cannot_return_after_something_new_was_said(self, store: SessionStore) -> None:
        one = await kept(store, said("one"), said("two"))
        await store.undo(one)
        session = await store.open(SessionKey(agent="default", id=one))
        await session.append([said("three")])
        await session.close()
        with pytest.raises(StoreError) as caught:
            await store.redo(one)
        assert caught.value.code == "session.redo"
        await store.undo(one)
        assert await texts(store, one) == ["one"]
        await store.redo(one)
        with pytest.raises(StoreError):
            await store.redo(one)
        assert await texts(store, one) == ["one", "three"]

    async def test_more_turns_than_there_are_are_not_taken_back(self, store: SessionStore) -> None:
        one = await kept(store, said("one"))
        for turns in (2, 0, -1):
            with pytest.raises(StoreError, match="1 turn") as caught:
                await store.undo(one, turns)
            assert caught.value.code == "session.turns"
        assert await texts(store, one) == ["one"]

    async def test_a_call_that_was_taken_back_is_no_longer_in_doubt(self, store: SessionStore) -> None:
        calls = (ToolCall(id="c1", name="shell", arguments={}),)
        session = await store.open(KEY)
        await session.intend([said("go"), Message(id="a", role="assistant", calls=calls)], calls)
        await session.close()
        await store.undo(session.id)
        again = await store.open(SessionKey(agent="default", id=session.id))
        assert list(again.interrupted) == []
        await again.append([said("instead")])
        await again.close()
        assert await texts(store, session.id) == ["instead"]

    async def test_a_deleted_session_is_gone_everywhere_and_stays_gone(self, store: SessionStore) -> None:
        one, other = await kept(store, said("secret one")), await kept(store, said("other"), said("taken"))
        await store.undo(other)
        assert len(await store.search("secret")) == 1
        await store.delete(one)
        assert list(await store.search("secret")) == []
        assert [facts.id for facts in await store.list()] == [other]
        for use in (store.read, store.delete, store.undo, store.redo, store.branch, store.find):
            with pytest.raises(StoreError) as caught:
                await use(one)
            assert caught.value.code == "session.missing"
        await store.delete(other)
        assert list(await store.list()) == []

    async def test_a_session_in_use_is_neither_deleted_nor_taken_back(self, store: SessionStore) -> None:
        session = await store.open(KEY)
        await session.append([said("one")])
        for use in (store.delete, store.undo, store.redo):
            with pytest.raises(SessionBusy):
                await use(session.id)
        await session.append([said("two")])
        await session.close()
        assert await texts(store, session.id) == ["one", "two"]

"""Ferrule through its public face alone: `supervised` gate, durable sessions with shipped settings.

Every conversation is a session of its own in one SQLite file. After the
scenario the sessions are opened anew and compared with what the agents held,
else no figure is printed. The history of `hist1000` is one session that was
stored before; each turn goes on in it. BENCH_FERRULE_PYTHON names the
interpreter of the checkout under test.
"""

import asyncio, os, pathlib, shutil, sys, tempfile
import __main__ as kit
ROOT = pathlib.Path(__file__).resolve().parents[3]
VENV, PACKAGES = "ferrule", [str(ROOT)]
PYTHON = os.environ.get("BENCH_FERRULE_PYTHON") or str(ROOT / ".venv/bin/python")
IMPORT = "from ferrule import Agent, Gate, OpenAI, Sessions, tool"
FOLDER = HELD = None
PROVIDERS, GATES, STORE, OPEN, AGENTS, KEPT = {}, {}, {}, {}, {}, []

def folder():
    global FOLDER
    if FOLDER is None:
        FOLDER = tempfile.mkdtemp(prefix="bench-ferrule-")
        os.chmod(FOLDER, 0o700)
    return FOLDER

def tools(n):
    from ferrule import tool
    return [tool(f) for f in kit.make_functions(n)]

def history(n):
    from ferrule import Message
    return tuple(Message(id=f"msg_{i}", role="user" if i % 2 == 0 else "assistant", text=f"message number {i} " * 10)
                 for i in range(n))

def build(base, model, tools):
    from ferrule import Agent, Gate, OpenAI
    provider = PROVIDERS.get(model) or PROVIDERS.setdefault(model, OpenAI(model=model, base_url=base, api_key="none"))
    gate = GATES.get(1) or GATES.setdefault(1, Gate.of(level="supervised", workspace=folder()))
    return Agent(provider, tools=tools, gate=gate)

async def store():
    from ferrule import Sessions
    if "store" not in STORE:
        STORE["manager"] = Sessions.at(os.path.join(folder(), "sessions.db"))
        STORE["store"] = await STORE["manager"].__aenter__()
    return STORE["store"]

async def conversation(past):
    from ferrule import SessionKey
    if past is not None and id(past) in OPEN:
        return OPEN[id(past)]
    session = await (await store()).open(SessionKey(agent="default"))
    if past is not None:
        await session.append(past)
        OPEN[id(past)] = session
    return session

async def turn(session, prompt, stream):
    template, past = session
    held = await conversation(past)
    agent = AGENTS.get(held.id) or template.in_session(held)
    if past is not None:
        AGENTS[held.id] = agent
    if stream:
        text = "".join([e.text async for e in agent.stream(prompt) if e.type == "text.delta"])
    else:
        result = await agent.send(prompt)
        if result.status != "completed":
            raise SystemExit(f"turn {result.status}: {result.error}")
        text = result.text
    if past is None and HELD is not None:
        HELD.append((agent, held))
    elif past is None:
        KEPT.append((held.id, tuple(held.messages)))
        await held.close()
    return text

async def forget(past):
    """Let go of a stored conversation, so that the next turn opens it from the disk."""
    held = await conversation(past)
    await held.close()
    AGENTS.pop(held.id, None)
    from ferrule import SessionKey
    OPEN[id(past)] = await (await store()).open(SessionKey(agent="default", id=held.id))

async def close():
    for held in [*OPEN.values(), *(held for _, held in HELD or ())]:
        KEPT.append((held.id, tuple(held.messages)))
        await held.close()
    if "manager" in STORE:
        await STORE["manager"].__aexit__(None, None, None)
        await compare()
    for provider in PROVIDERS.values():
        await provider.close()
    if FOLDER:
        shutil.rmtree(FOLDER, True)

async def compare():
    from ferrule import Sessions
    async with Sessions.at(os.path.join(folder(), "sessions.db")) as again:
        for session_id, messages in KEPT:
            if tuple(await again.read(session_id)) != messages:
                raise SystemExit(f"session {session_id} on disk differs from what the agent held")

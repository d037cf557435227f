"""Ferrule's loop without a store: sessions in memory. Against `ferrule` it shows what durable sessions cost."""
import os
from drivers.ferrule import AGENTS, GATES, IMPORT, PACKAGES, PROVIDERS, PYTHON, VENV, build, history, tools

async def turn(session, prompt, stream):
    template, past = session
    agent = AGENTS.get(id(past)) or template.in_session(None)
    if past is not None and id(past) not in AGENTS:
        AGENTS[id(past)] = agent
        await agent.session.append(past)
    if stream:
        return "".join([e.text async for e in agent.stream(prompt) if e.type == "text.delta"])
    return (await agent.send(prompt)).text

async def close():
    for provider in PROVIDERS.values():
        await provider.close()

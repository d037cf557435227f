"""langchain create_agent (a langgraph graph) + ChatOpenAI."""
import __main__ as kit
from drivers.raw_openai import history
VENV, PACKAGES = "langchain", ["langchain", "langgraph", "langchain-openai"]
IMPORT = "from langchain.agents import create_agent; from langchain_openai import ChatOpenAI"
MODELS = {}

def tools(n):
    from langchain.tools import tool
    return [tool(f) for f in kit.make_functions(n)]

def build(base, model, tools):
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    m = MODELS.get(model) or MODELS.setdefault(model, ChatOpenAI(model=model, base_url=base, api_key="none"))
    return create_agent(m, tools=tools, system_prompt="Be brief.")

async def turn(session, prompt, stream):
    agent, past = session
    state, cfg = {"messages": [*(past or ()), {"role": "user", "content": prompt}]}, {"recursion_limit": 200}
    if stream:
        text = []
        async for msg, _ in agent.astream(state, cfg, stream_mode="messages"):
            text.append(msg.content or "")
        return "".join(text)
    return (await agent.ainvoke(state, cfg))["messages"][-1].content

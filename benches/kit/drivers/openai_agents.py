"""openai-agents: Agent + Runner over chat completions, tracing off."""
import __main__ as kit
from drivers.raw_openai import history
VENV, PACKAGES = "openai-agents", ["openai-agents"]
IMPORT = "from agents import Agent, Runner, function_tool, OpenAIChatCompletionsModel"
CLIENT = None

def tools(n):
    from agents import function_tool, set_tracing_disabled
    set_tracing_disabled(True)
    return [function_tool(f) for f in kit.make_functions(n)]

def build(base, model, tools):
    from agents import Agent, OpenAIChatCompletionsModel
    from openai import AsyncOpenAI
    global CLIENT
    CLIENT = CLIENT or AsyncOpenAI(base_url=base, api_key="none")
    return Agent(name="bench", instructions="Be brief.", tools=tools,
                 model=OpenAIChatCompletionsModel(model=model, openai_client=CLIENT))

async def turn(session, prompt, stream):
    from agents import Runner
    agent, past = session
    inp = [*past, {"role": "user", "content": prompt}] if past else prompt
    if stream:
        r = Runner.run_streamed(agent, inp, max_turns=40)
        async for _ in r.stream_events():
            pass
        return r.final_output
    return (await Runner.run(agent, inp, max_turns=40)).final_output

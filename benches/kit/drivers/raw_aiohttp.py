"""Physical floor with a general HTTP client: aiohttp + orjson, no SDK, no models."""
from drivers.raw_openai import VENV, PACKAGES, tools, history
IMPORT = "import aiohttp, orjson"
CLIENT = None

def build(base, model, tools):
    return base + "/chat/completions", model, *tools

async def close():
    await CLIENT.close()

async def turn(session, prompt, stream):
    global CLIENT
    import aiohttp
    from orjson import dumps, loads
    if CLIENT is None:
        CLIENT = aiohttp.ClientSession(headers={"content-type": "application/json", "authorization": "Bearer none"},
                                       connector=aiohttp.TCPConnector(limit=0))
    (url, model, defs, fns), past = session
    msgs = [*(past or ()), {"role": "user", "content": prompt}]
    while True:
        req = {"model": model, "messages": msgs, "tools": defs}
        if stream:
            text, req["stream"] = [], True
            async with CLIENT.post(url, data=dumps(req)) as r:
                async for line in r.content:
                    if line.startswith(b"data: {"):
                        ch = loads(line[6:])["choices"]
                        if ch and (t := ch[0]["delta"].get("content")):
                            text.append(t)
            return "".join(text)
        async with CLIENT.post(url, data=dumps(req)) as r:
            m = loads(await r.read())["choices"][0]["message"]
        if not m.get("tool_calls"):
            return m["content"]
        msgs.append(m)
        for c in m["tool_calls"]:
            f = c["function"]
            msgs.append({"role": "tool", "tool_call_id": c["id"], "content": fns[f["name"]](**loads(f["arguments"]))})

"""Physical floor of pure Python + C parsers: own keep-alive HTTP/1.1 client (httptools, uvloop) and orjson. History
and tool definitions are serialised once and appended to (no re-encoding of the past on each round)."""
import asyncio, collections
from drivers.raw_openai import VENV, PACKAGES, tools, history
IMPORT = "import httptools, uvloop, orjson"
UVLOOP = True
POOL, ENCODED = collections.deque(), {}

class Client(asyncio.Protocol):
    def connection_made(self, t):
        self.t = t

    def data_received(self, data):
        self.p.feed_data(data)

    def on_body(self, b):
        self.buf.append(b)
        if self.on_chunk:
            self.on_chunk(b)

    def on_message_complete(self):
        self.fut.done() or self.fut.set_result(b"".join(self.buf))

    def connection_lost(self, exc):
        if not self.fut.done():
            self.fut.set_exception(exc or ConnectionError("closed"))

    async def post(self, host, path, body, on_chunk=None):
        import httptools
        self.p, self.buf, self.on_chunk = httptools.HttpResponseParser(self), [], on_chunk
        self.fut = asyncio.get_running_loop().create_future()
        self.t.write(b"POST %b HTTP/1.1\r\nhost: %b\r\nauthorization: Bearer none\r\ncontent-type: application/json"
                     b"\r\ncontent-length: %d\r\n\r\n%b" % (path, host, len(body), body))
        return await self.fut

async def post(where, body, on_chunk=None):
    host, port, path = where
    if POOL:
        c = POOL.pop()
    else:
        _, c = await asyncio.get_running_loop().create_connection(Client, host, port)
    out = await c.post(host.encode(), path, body, on_chunk)
    POOL.append(c)
    return out

def build(base, model, tools):
    from orjson import dumps
    host, port = base.split("/")[2].split(":")
    return (host, int(port), b"/v1/chat/completions"), model, dumps(tools[0]), tools[1]

def session(agent, past):
    from orjson import dumps
    if past is None:
        return agent, b""
    # a stored conversation keeps its encoded form next to it
    return agent, ENCODED.get(id(past)) or ENCODED.setdefault(id(past), dumps(past)[1:-1] + b",")

async def turn(session, prompt, stream):
    from orjson import dumps, loads
    (where, model, defs, fns), past = session
    head = b'{"model":"' + model.encode() + b'","tools":' + defs + b',"stream":' + (b"true" if stream else b"false") \
        + b',"messages":['
    msgs = [past + dumps({"role": "user", "content": prompt})]
    while True:
        body = head + b",".join(msgs) + b"]}"
        if stream:
            text = []
            for ev in (await post(where, body)).split(b"\n\n"):
                if ev.startswith(b"data: {"):
                    ch = loads(ev[6:])["choices"]
                    if ch and (t := ch[0]["delta"].get("content")):
                        text.append(t)
            return "".join(text)
        m = loads(await post(where, body))["choices"][0]["message"]
        if not m.get("tool_calls"):
            return m["content"]
        msgs.append(dumps(m))
        for c in m["tool_calls"]:
            f = c["function"]
            msgs.append(dumps({"role": "tool", "tool_call_id": c["id"],
                               "content": fns[f["name"]](**loads(f["arguments"]))}))

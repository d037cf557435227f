"""Runs ONE scenario of ONE driver in this process and prints one JSON line. Started by ./run in the peer's own
virtual environment: worker.py PEER SCENARIO BASE_URL. It needs the standard library only (psutil not required).

CPU figures are this process's own (all threads, no children); the mock's CPU is read from its /stats before and
after, so a driver's cost never contains the server's. Every scenario checks that the final text is right, that the
tools really ran and that the mock saw the expected number of requests; otherwise it fails instead of reporting."""
import asyncio, gc, importlib, json, os, resource, statistics, sys, time, urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
CALLS = 0

def make_functions(n):
    """n plain, typed, documented functions bench_tool_000(city: str, days: int) -> str."""
    fns = []
    for i in range(n):
        ns = {}
        exec(f'''
def bench_tool_{i:03d}(city: str, days: int) -> str:
    """Look up entry {i} for a city.

    Args:
        city: Name of the city to look up.
        days: How many days ahead.
    """
    import __main__
    __main__.CALLS += 1
    return "ok " + str(city)
''', ns)
        fns.append(ns[f"bench_tool_{i:03d}"])
    return fns

def json_tools(n):
    """The same tools as hand-written OpenAI tool definitions."""
    return [{"type": "function", "function": {
        "name": f"bench_tool_{i:03d}", "description": f"Look up entry {i} for a city.", "parameters": {
            "type": "object", "required": ["city", "days"], "properties": {
                "city": {"type": "string", "description": "Name of the city to look up."},
                "days": {"type": "integer", "description": "How many days ahead."}}}}} for i in range(n)]

def rss_mb(field="VmRSS"):
    with open("/proc/self/status") as f:
        return next(int(x.split()[1]) / 1024 for x in f if x.startswith(field + ":"))

def stats(base):
    with urllib.request.urlopen(base + "/stats") as r:
        return json.load(r)

class Meter:
    def __init__(self, base):
        self.base = base

    def __enter__(self):
        gc.collect()
        self.s0, self.calls0 = stats(self.base), CALLS
        self.w0, self.c0 = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *exc):
        self.wall, self.cpu = time.perf_counter() - self.w0, time.process_time() - self.c0
        s1 = stats(self.base)
        self.mock_cpu = s1["cpu_s"] - self.s0["cpu_s"]
        self.requests = s1["requests"] - self.s0["requests"] - 1
        self.calls = CALLS - self.calls0

def check(meter, turns, rounds, text, want="done"):
    if turns * (rounds + 1) != meter.requests or meter.calls != turns * rounds or want not in text:
        raise SystemExit(f"driver misbehaves: {turns} turns of {rounds} rounds gave {meter.requests} requests, "
                         f"{meter.calls} tool calls, text {text[:80]!r}")

async def repeat(d, base, spec, n_tools, rounds, turns, history=None, stream=False, want="done"):
    """Run turns one after the other; figures per turn and per model request."""
    agent = d.build(base, spec, d.tools(n_tools))
    past = d.history(history) if history else None
    for _ in range(2):
        await d.turn(d.session(agent, past), "go", stream)
    walls, text = [], ""
    with Meter(base) as m:
        for _ in range(turns):
            t = time.perf_counter()
            text = await d.turn(d.session(agent, past), "go", stream)
            walls.append(time.perf_counter() - t)
    check(m, turns, rounds, text, want)
    req = turns * (rounds + 1)
    return {"turns": turns, "requests": req, "cpu_ms_per_turn": m.cpu / turns * 1e3,
            "cpu_ms_per_request": m.cpu / req * 1e3, "wall_ms_per_turn": statistics.median(walls) * 1e3,
            "wall_ms_per_request": statistics.median(walls) * 1e3 / (rounds + 1),
            "mock_cpu_ms_per_request": m.mock_cpu / req * 1e3, "rss_mb": rss_mb()}

async def concurrent(d, base, n, rounds=5, waves=3, spec=None):
    """n sessions at once, each a fresh conversation with `rounds` tool rounds; `waves` of them after a warm-up."""
    agent = d.build(base, spec or f"mock-tools-{rounds}", d.tools(10))
    lat, texts = [], []

    async def one():
        t = time.perf_counter()
        texts.append(await d.turn(d.session(agent, None), "go", False))
        lat.append(time.perf_counter() - t)

    await asyncio.gather(*(one() for _ in range(min(n, 20))))
    rss0 = rss_mb()
    lat.clear()
    with Meter(base) as m:
        for _ in range(waves):
            await asyncio.gather(*(one() for _ in range(n)))
    check(m, n * waves, rounds, texts[-1])
    lat.sort()
    return {"sessions": n * waves, "sessions_per_s": n * waves / m.wall, "p50_ms": lat[len(lat) // 2] * 1e3,
            "p99_ms": lat[int(len(lat) * .99)] * 1e3, "cpu_ms_per_session": m.cpu / n / waves * 1e3,
            "cpu_s": m.cpu, "mock_cpu_s": m.mock_cpu, "rss_before_mb": rss0, "peak_rss_mb": rss_mb("VmHWM")}

def construct(d, base, n=1000, n_tools=10):
    """Mean time and memory of an agent built from 10 plain tools (tool conversion included: `full`) and from tools
    already converted (`agent`). Memory is the growth of the resident set with every agent kept alive."""
    tools = d.tools(n_tools)
    d.build(base, "mock-plain-16", tools)
    out = {}
    for name, make in (("agent", lambda: d.build(base, "mock-plain-16", tools)),
                       ("full", lambda: d.build(base, "mock-plain-16", d.tools(n_tools)))):
        t = time.process_time()
        make()
        k = max(20, min(n, int(2 / max(time.process_time() - t, 1e-6))))
        keep = []
        gc.collect()
        r0, c0 = rss_mb(), time.process_time()
        for _ in range(k):
            keep.append(make())
        cpu = time.process_time() - c0
        gc.collect()
        out.update({f"{name}_us": cpu / k * 1e6, f"{name}_kib": (rss_mb() - r0) * 1024 / k, f"{name}_n": k})
        del keep
    return out

SCENARIOS = {
    "plain": lambda d, b: repeat(d, b, "mock-plain-16", 10, 0, 60, want="lorem"),
    "stream1": lambda d, b: repeat(d, b, "mock-plain-1", 10, 0, 60, stream=True, want="lorem"),
    "stream256": lambda d, b: repeat(d, b, "mock-plain-256", 10, 0, 15, stream=True, want="lorem"),
    "stream256i": lambda d, b: repeat(d, b, "mock-plain-256-i1", 10, 0, 8, stream=True, want="lorem"),
    "loop20": lambda d, b: repeat(d, b, "mock-tools-20", 10, 20, 4),
    "parallel20": lambda d, b: repeat_parallel(d, b, 20),
    "conc50": lambda d, b: concurrent(d, b, 50, waves=2),
    "conc200": lambda d, b: concurrent(d, b, 200, waves=1),
    "idle200": lambda d, b: concurrent(d, b, 200, waves=1, spec="mock-tools-5-t200"),
    "hist1000": lambda d, b: repeat(d, b, "mock-plain-16", 10, 0, 5, history=1000, want="lorem"),
    "tools200": lambda d, b: repeat(d, b, "mock-plain-16", 200, 0, 20, want="lorem"),
    "open1000": lambda d, b: opened(d, b),
    "paced300": lambda d, b: paced(d, b, 300),
    "live400": lambda d, b: live(d, b),
    "construct": None,
}

async def paced(d, base, n, tokens=40, every_ms=50):
    """n streamed turns at once at an even pace, as people see them: how much of a core that takes."""
    agent = d.build(base, f"mock-plain-{tokens}-i{every_ms}", d.tools(10))
    await asyncio.gather(*(d.turn(d.session(agent, None), "go", True) for _ in range(5)))
    with Meter(base) as m:
        texts = await asyncio.gather(*(d.turn(d.session(agent, None), "go", True) for _ in range(n)))
    check(m, n, 0, min(texts, key=len), "lorem")
    ideal = tokens * every_ms / 1e3
    return {"streams": n, "core_share": m.cpu / m.wall, "cpu_us_per_token": m.cpu / n / tokens * 1e6,
            "wall_s": m.wall, "late_s": m.wall - ideal, "peak_rss_mb": rss_mb("VmHWM")}

async def opened(d, base, turns=5, history=1000):
    """The first turn after a stored conversation was opened; drivers with a store let go of it by `forget`."""
    agent, past = d.build(base, "mock-plain-16", d.tools(10)), d.history(history)
    forget = getattr(d, "forget", None)
    cpu, text = 0.0, ""
    for i in range(turns + 1):
        if forget is not None:
            await forget(past)
        with Meter(base) as m:
            text = await d.turn(d.session(agent, past), "go", False)
        cpu += m.cpu if i else 0.0
    if "lorem" not in text:
        raise SystemExit(f"driver misbehaves: text {text[:60]!r}")
    return {"turns": turns, "cpu_ms_per_turn": cpu / turns * 1e3, "rss_mb": rss_mb()}

async def live(d, base, n=400):
    """Resident memory of a conversation that stays in memory after one turn; drivers keep it in their list `HELD`."""
    agent = d.build(base, "mock-plain-16", d.tools(10))
    d.HELD = []
    for _ in range(20):
        await d.turn(d.session(agent, None), "go", False)
    gc.collect()
    before = rss_mb()
    for _ in range(n):
        await d.turn(d.session(agent, None), "go", False)
    gc.collect()
    if len(d.HELD) != n + 20:
        raise SystemExit("this driver does not keep its conversations")
    return {"sessions": n, "live_kib": (rss_mb() - before) * 1024 / n}

async def repeat_parallel(d, base, k, turns=8):
    agent = d.build(base, f"mock-parallel-{k}", d.tools(10))
    await d.turn(d.session(agent, None), "go", False)
    text = ""
    with Meter(base) as m:
        for _ in range(turns):
            text = await d.turn(d.session(agent, None), "go", False)
    if m.calls != turns * k or m.requests != turns * 2 or "done" not in text:
        raise SystemExit(f"driver misbehaves: {m.calls} calls, {m.requests} requests, text {text[:60]!r}")
    return {"turns": turns, "cpu_ms_per_turn": m.cpu / turns * 1e3, "cpu_ms_per_tool": m.cpu / turns / k * 1e3,
            "wall_ms_per_turn": m.wall / turns * 1e3}

def main(peer, scenario, base):
    sys.path.insert(0, HERE)
    os.environ.update(OPENAI_API_KEY="none", OPENAI_BASE_URL=base, NO_PROXY="*", DO_NOT_TRACK="1",
                      ANONYMIZED_TELEMETRY="false", LANGSMITH_TRACING="false", OTEL_SDK_DISABLED="true")
    d = importlib.import_module("drivers." + peer)
    d.session = getattr(d, "session", lambda agent, past: (agent, past))
    if scenario == "construct":
        res = construct(d, base)
    else:
        async def go():
            out = await SCENARIOS[scenario](d, base)
            if hasattr(d, "close"):
                await d.close()
            return out
        runner = asyncio.run
        if getattr(d, "UVLOOP", False):
            runner = importlib.import_module("uvloop").run
        res = runner(go())
    res = {k: round(v, 4) if isinstance(v, float) else v for k, v in res.items()}
    ru = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"peer": peer, "scenario": scenario, **res, "process_peak_mb": round(ru.ru_maxrss / 1024, 1)}),
          flush=True)

if __name__ == "__main__":
    main(*sys.argv[1:4])
    os._exit(0)  # some peers leave threads or exporters behind; their shutdown is not what is measured

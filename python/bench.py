"""What the package costs beside the command, SAGA and networkx: ratios, measured side by side.

    python python/bench.py [--saga] [--growth] [--command PATH]

Every figure is the least of several turns, which alternate. Fails where a ratio or the growth of memory is more than promised.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import slackline as sl


def least(turns: int, *works: Callable[[], object]) -> list[float]:
    """Seconds of the quickest turn of each."""
    best = [float("inf")] * len(works)
    for _ in range(turns):
        for at, work in enumerate(works):
            begin = time.perf_counter()
            work()
            best[at] = min(best[at], time.perf_counter() - begin)
    return best


broken: list[str] = []


def promised(what: str, value: float, most: float) -> None:
    """Notes a figure that is larger than it may be."""
    if value > most:
        broken.append(f"{what}: {value:.2f}, promised {most:g}")


def heft(command: str | None) -> None:
    """HEFT on 1,000 tasks and 16 hosts: objects built, plan made and read into pandas."""
    import pandas  # noqa: F401

    source = sl.generate.daggen(1000, seed=1)
    columns, edges = source.columns(), source.edges()
    speeds = [f"{1 + at / 8}Gf" for at in range(16)]

    def ours() -> object:
        wf = sl.Workflow("w")
        wf.add_many(columns["task"], columns["work"], edges["source"], edges["target"], edges["bytes"])
        pf = sl.Platform.cluster(16, speed=speeds)
        return wf.plan(pf, "heft").to_pandas()

    with tempfile.TemporaryDirectory() as folder:
        flow, machines = Path(folder, "w.json"), Path(folder, "p.toml")
        flow.write_text(source.to_text("wfformat"))
        machines.write_text(sl.Platform.cluster(16, speed=speeds).to_toml())
        words = [command or "slackline", "plan", str(flow), "-p", str(machines), "-a", "heft", "--json", "--quiet"]

        def theirs() -> object:
            return subprocess.run(words, check=True, capture_output=True)

        one, other = least(7, ours, theirs)
    promised("HEFT beside the command", one / other, 1.5)
    print(f"HEFT, 1,000 x 16: Python {one * 1e3:.1f} ms, command {other * 1e3:.1f} ms, ratio {one / other:.2f}")


def saga() -> None:
    """The same beside SAGA."""
    from saga import Network, TaskGraph
    from saga.schedulers import HeftScheduler

    source = sl.generate.daggen(1000, seed=1)
    columns, edges = source.columns(), source.edges()
    names = columns["task"]

    def ours() -> object:
        wf = sl.Workflow("w")
        wf.add_many(names, columns["work"], edges["source"], edges["target"], edges["bytes"])
        return wf.plan(sl.Platform.processors(16), "heft").to_pandas()

    def theirs() -> object:
        graph = TaskGraph.create(
            tasks=[(name, work / 1e9) for name, work in zip(names, columns["work"])],
            dependencies=[(names[s], names[t], b) for s, t, b in zip(edges["source"], edges["target"], edges["bytes"])],
        )
        nodes = [f"p{n}" for n in range(16)]
        network = Network.create(nodes=[(n, 1.0) for n in nodes], edges=[(a, b, 1.0) for a in nodes for b in nodes if a < b])
        return HeftScheduler().schedule(network, graph)

    (one,), (other,) = least(5, ours), least(1, theirs)
    promised("HEFT, 300 times beside SAGA", 300 * one / other, 1)
    print(f"HEFT, 1,000 x 16: SAGA {other:.2f} s, Python {one * 1e3:.1f} ms, {other / one:.0f} times")


def building() -> None:
    """A graph of 100,000 tasks built here and by networkx."""
    import networkx as nx

    source = sl.generate.daggen(100_000, seed=1)
    columns, edges = source.columns(), source.edges()
    rows = list(zip(columns["task"], columns["work"]))
    pairs = [(columns["task"][s], columns["task"][t], b) for s, t, b in zip(edges["source"], edges["target"], edges["bytes"])]

    def theirs() -> object:
        graph = nx.DiGraph()
        for name, work in rows:
            graph.add_node(name, work=work)
        for s, t, b in pairs:
            graph.add_edge(s, t, data=b)
        return graph

    def bulk() -> object:
        wf = sl.Workflow("w")
        wf.add_many(columns["task"], columns["work"], edges["source"], edges["target"], edges["bytes"])
        wf.check()
        return wf

    parents: list[dict[str, float]] = [{} for _ in rows]
    for s, t, b in zip(edges["source"], edges["target"], edges["bytes"]):
        parents[t][columns["task"][s]] = b

    def one_by_one() -> object:
        wf = sl.Workflow("w")
        for (name, work), after in zip(rows, parents):
            wf.task(name, work=work, after=after)
        wf.check()
        return wf

    other, many, single = least(3, theirs, bulk, one_by_one)
    promised("building, three times beside networkx", 3 * min(many, single) / other, 1)
    print(
        f"100,000 tasks, {len(pairs):,} edges: networkx {other * 1e3:.0f} ms; add_many {many * 1e3:.0f} ms ({other / many:.1f} times "
        f"faster), task by task {single * 1e3:.0f} ms ({other / single:.1f} times)"
    )


def policies() -> None:
    """`just-in-time` of Python beside that of the library, 1,000 tasks."""
    import sys

    sys.path.insert(0, str(Path(__file__).parent / "tests"))
    from test_just_in_time import JustInTime

    wf = sl.generate.daggen(1000, seed=1)
    pf = sl.Platform.cluster(16, cores=1, speed="2Gf")
    for trace in (True, False):
        ours = lambda: wf.simulate(pf, JustInTime(), trace=trace)
        theirs = lambda: wf.simulate(pf, "just-in-time", trace=trace)
        one, other = least(5, ours, theirs)
        kept = "with" if trace else "without"
        promised(f"just-in-time {kept} trace", one / other, 5)
        print(f"just-in-time, 1,000 tasks, {kept} trace: Python {one * 1e3:.0f} ms, library {other * 1e3:.0f} ms, ratio {one / other:.2f}")


def steps() -> None:
    """Steps of the environment beside the bare engine."""
    import numpy as np

    from slackline import _native

    wf = sl.generate.daggen(200, seed=1)
    pf = sl.Platform.cluster(8, cores=2, speed="2Gf")
    env = sl.gym.Env(wf, pf)
    count = 0

    def ours() -> object:
        nonlocal count
        observation, _ = env.reset()
        count, over = 0, False
        while not over:
            ready = np.flatnonzero(observation["tasks"][:, 0] == 1)
            host = int(np.argmax(observation["hosts"][:, 0]))
            observation, _, over, _, _ = env.step((int(ready[0]) if len(ready) else 200, host))
            count += 1
        return None

    bare = lambda: _native.episode_bare(wf, pf)
    one, other = least(15, ours, bare)
    promised("steps of the environment", one / count / (other / 200), 5)
    print(
        f"environment: {one / count * 1e6:.1f} us a step of {count}; bare engine {other / 200 * 1e6:.1f} us a decision, "
        f"ratio {one / count / (other / 200):.2f}"
    )


def growth() -> None:
    """Memory over 10,000 runs."""
    import resource

    wf = sl.generate.daggen(20, seed=1)
    pf = sl.Platform.cluster(4)

    class Greedy(sl.Policy):
        def react(self, events, now):  # type: ignore[no-untyped-def]
            for task in now.ready:
                yield sl.Start(task, on=now.idle[0])

    def kilobytes() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024

    sizes = []
    for turn in range(11):
        for _ in range(1000 if turn else 100):
            wf.simulate(pf, Greedy())
            wf.plan(pf, "heft")
        sizes.append(kilobytes())
    promised("memory of 9,000 runs", sizes[-1] / sizes[1], 1.02)
    print("memory after each 1,000 runs, MiB:", " ".join(f"{size / 1024:.1f}" for size in sizes))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--saga", action="store_true")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--command")
    chosen = parser.parse_args()
    heft(chosen.command)
    building()
    policies()
    steps()
    if chosen.saga:
        saga()
    if chosen.growth:
        growth()
    if broken:
        raise SystemExit("\n".join(broken))

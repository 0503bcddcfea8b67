"""What the documentation promises, as it is written there."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import slackline as sl

from conftest import EXAMPLES


@sl.planner("by-size")
def mine(problem, partial):
    """Level by level, the greatest task first, each where it ends first."""
    for task in sorted(problem.tasks, key=lambda t: (t.level, -t.work)):
        partial.place(task, min(partial.offers(task), key=lambda o: o.finish))


class Greedy(sl.Policy):
    def react(self, events, now):
        for task in now.ready:
            yield sl.Start(task, on=min(now.idle, key=lambda h: now.seconds(task, h)))


def test_a_plan(wf, pf):
    plan = wf.plan(pf, "heft")
    # a: 3 s at 1 Gflop/s take 1.5 s here; b: 20 Gflop at 2 Gflop/s take 10 s on the same host.
    assert plan.makespan == pytest.approx(11.5)
    assert plan["a"].host == plan["b"].host
    assert plan["b"].start == pytest.approx(1.5)
    assert plan["b"].finish == plan.makespan
    assert plan.bound <= plan.makespan
    assert plan.cost == 0.0
    assert list(plan.to_pandas()["task"]) == ["a", "b"]
    assert plan.request["schema"] == "slackline/plan-request/1"
    assert plan.request["planners"] == ["heft"]
    assert plan.to_svg().startswith("<svg")


def test_best_within_a_time_limit(wf, pf):
    best = wf.plan(pf, "best", time_limit="1s")
    assert best.makespan == pytest.approx(11.5)
    priced = sl.read("priced-cloud")
    cheap = sl.read("montage").plan(priced, budget=5.0)
    assert cheap.cost <= 5.0 and cheap.feasible


def test_simulation_under_a_scenario(pf):
    wf = sl.generate.daggen(100, seed=1)
    assert len(wf) == 100
    run = wf.simulate(pf, policy="slackline", scenario=sl.generate.sce(50, seed=7))
    assert run.finished and run.makespan > 0
    assert run.decisions and "decisions" in run.decisions[0]
    assert len(run.trace.to_pandas()) == len(run.trace)
    assert 0 < max(run.utilisation().values()) <= 1
    assert run[wf.tasks[0]].finish <= run.makespan
    again = wf.simulate(pf, policy="slackline", scenario=sl.generate.sce(50, seed=7))
    assert again.makespan == run.makespan


def test_a_comparison(wf, pf):
    t = sl.compare([wf], [pf], ["heft", "peft", mine], repeat=20)
    assert len(t) == 60
    assert t.methods == ["heft", "peft", "by-size"]
    assert all(row.makespan == pytest.approx(11.5) for row in t)
    assert "<svg" in t.boxplot()._repr_svg_()
    assert list(t.to_pandas().columns)[:4] == ["workflow", "platform", "scenario", "kind"]
    named = sl.compare([wf], [pf], ["by-size", f"{__name__}:by-size", "slackline", Greedy])
    assert all(row.done for row in named), [row.why for row in named]


def test_interop(pf):
    import networkx as nx

    g = nx.DiGraph(name="g")
    g.add_node("a", work=2e9)
    g.add_node("b", work="1Gf")
    g.add_edge("a", "b", data="1MB")
    wf = sl.Workflow.from_networkx(g, work="work", data="data")
    back = wf.to_networkx()
    assert back.edges["a", "b"]["data"] == 1e6
    assert back.nodes["b"]["work"] == 1e9
    ranks = wf.ranks(pf)
    assert ranks.shape == (2,) and ranks[0] > ranks[1] > 0


def test_a_planner_of_ones_own(pf):
    wf = sl.generate.montage(tasks=60, seed=2)
    plan = wf.plan(pf, mine)
    assert plan.algorithm == "by-size" and len(plan) == len(wf)
    assert wf.plan(pf, "by-size").makespan == plan.makespan
    assert plan.simulated is not None
    # It drives a run, too.
    run = wf.simulate(pf, "static", planner=mine)
    assert run.finished and run.planned == plan.makespan
    assert any(info.name == "by-size" for info in sl.planners())


def test_a_policy_of_ones_own(wf, pf):
    run = wf.simulate(pf, policy=Greedy())
    assert run.finished and run.makespan == pytest.approx(11.5, rel=0.02)
    assert run.policy == "Greedy"
    large = sl.generate.montage(tasks=80, seed=1).simulate(pf, policy=Greedy())
    assert large.finished
    assert large.counts["rejected"] == 0


def test_a_policy_drives_a_real_run(pf):
    wf = sl.Workflow("hello")
    wf.task("a", seconds=0.1, outputs=["x"], command="echo hello > x")
    wf.task("b", seconds=0.1, inputs=["x"], outputs=["y"], command="cat x x > y")
    run = wf.run(policy=Greedy(), on="local", folder="out", cores=2)
    assert run.finished and run.folder == "out"
    assert run["b"].start >= run["a"].finish
    assert list(Path("out").glob("**/y")), list(Path("out").glob("**/*"))
    rehearsed = wf.run(policy=Greedy(), dry_run=True, cores=2)
    assert rehearsed.finished


def test_files_are_recognised():
    wf = sl.read(EXAMPLES / "workflows" / "montage.json")
    assert len(wf) == 38 and wf.name
    assert isinstance(sl.read(EXAMPLES / "platforms" / "two-site-grid.toml"), sl.Platform)
    assert isinstance(sl.read("slow-day"), sl.Scenario)


def test_registries_are_listed():
    heft = next(info for info in sl.planners() if info.name == "heft")
    assert heft.family == "list" and not heft.needs
    budget = [info.name for info in sl.planners() if "budget" in info.needs]
    assert "hbcs" in budget
    slackline = next(info for info in sl.policies() if info.name == "slackline")
    assert [p.name for p in slackline.parameters] == ["effort"]


def test_values_can_be_pickled_and_copied(wf, pf):
    import copy

    for value in (wf, pf, sl.generate.sce(50, seed=7), sl.read("slow-day")):
        again = pickle.loads(pickle.dumps(value))
        assert repr(again) == repr(value)
        assert type(copy.deepcopy(value)) is type(value)
    assert pickle.loads(pickle.dumps(wf)) == wf
    plan = wf.plan(pf, "heft")
    again = pickle.loads(pickle.dumps(plan))
    assert again.makespan == plan.makespan and again["a"] == plan["a"]
    assert again.to_json() == plan.to_json() and again._repr_svg_() == plan._repr_svg_()
    run = wf.simulate(pf, "slackline")
    again = pickle.loads(pickle.dumps(run))
    assert again.makespan == run.makespan and again.decisions == run.decisions
    for value in (wf.plans(pf, ["heft", "peft"]), sl.compare([wf], [pf], ["heft"]), run.trace, plan["a"], run.transfers(), sl.planners()[0], Greedy()):
        for made in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
            assert type(made) is type(value) and repr(made) == repr(value).replace(hex(id(value)), hex(id(made)))
    for value in (wf.tasks[0], pf.hosts[0]):
        assert copy.copy(value) == copy.deepcopy(value) == value
        assert str(pickle.loads(pickle.dumps(value))) == value.name
    for value in (sl.Start("a", on="n1"), sl.Cancel("a"), sl.Copy("x", "n1"), sl.WakeAt(3.0)):
        for made in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
            assert type(made) is type(value) and repr(made) == repr(value)
    error = pickle.loads(pickle.dumps(sl.BadInput("m", "h", "f", "1:2")))
    assert str(error) == "m (h)" and error.file == "f" and error.place == "1:2"
    planner = pickle.loads(pickle.dumps(mine))
    assert planner.name == "by-size"
    copied = copy.copy(wf)
    copied.task("c", seconds=1)
    assert len(copied) == 3 and len(wf) == 2


def test_runs_of_several_policies(wf, pf):
    runs = wf.simulate_all(pf, ["static", "gtp", Greedy], period=0.25, monitoring_delay="1s")
    assert [run.policy for run in runs] == ["static", "gtp", "Greedy"]
    assert runs.request["setup"]["period"] == "0.25" and runs.request["setup"]["monitoring_delay"] == 1.0
    assert runs[1].makespan == wf.simulate(pf, "gtp", period=0.25, monitoring_delay="1s").makespan


def test_plans_are_followed(wf, pf):
    plan = wf.plan(pf, "peft")
    run = wf.simulate(pf, plan=plan)
    assert run.finished and run.makespan == pytest.approx(plan.simulated)


def test_a_campaign_finds_what_modules_register(tmp_path, monkeypatch):
    (tmp_path / "my_methods.py").write_text(
        "import slackline as sl\n"
        "@sl.planner('first-host')\n"
        "def first(problem, partial):\n"
        "    for task in sorted(problem.tasks, key=lambda t: t.level):\n"
        "        partial.place(task, problem.hosts[0])\n"
    )
    (tmp_path / "c.toml").write_text(
        'name = "c"\nrepeat = 2\n[workflows.w]\ngenerate = "daggen"\ntasks = 10\n'
        '[platforms.p]\ngenerate = "cluster"\nhosts = 2\n'
        '[methods]\nplan = ["heft", "my_methods:first-host"]\nsimulate = ["slackline:peft"]\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    t = sl.campaign("c.toml")
    assert t.methods == ["heft", "my_methods:first-host", "slackline:peft"] and len(t) == 6
    assert all(row.done for row in t), [row.why for row in t]
    assert t.means()["heft"] <= t.means()["my_methods:first-host"]
    with pytest.raises(sl.BadInput):
        sl.campaign("none.toml")


def test_an_interrupted_search_returns_what_it_has():
    import os
    import signal
    import threading
    import warnings

    wf = sl.generate.montage(tasks=300, seed=1)
    pf = sl.Platform.cluster(5, cores=2, speed=["1Gf", "2Gf", "3Gf", "1.5Gf", "2.5Gf"])
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        plan = wf.plan(pf, "best", time_limit="60s")
    timer.join()
    assert len(plan) == len(wf)
    assert any("interrupted" in str(remark.message) for remark in remarks)

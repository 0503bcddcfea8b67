"""Wrong input is an error that says what and where; nothing else happens."""

from __future__ import annotations

import math

import pytest

import slackline as sl


@pytest.mark.parametrize(
    "options",
    [
        {"seconds": math.nan},
        {"seconds": -1},
        {"seconds": math.inf},
        {"work": 1e40},
        {"work": "20"},
        {"work": "20GB"},
        {"work": 10**400},
        {"seconds": 1, "work": 1},
        {"seconds": True},
        {"seconds": []},
        {"memory": "4Gf"},
        {"memory": -1},
        {"cores": 0},
        {"cores": -1},
        {"cores": 2**40},
        {"cores": True},
        {"cores": "8-1"},
        {"cores": (1, 8)},
        {"cores": (1,)},
        {"inputs": 5},
        {"inputs": [5]},
        {"inputs": {"x": "-1MB"}},
        {"inputs": {"x": math.nan}},
        {"inputs": [""]},
        {"outputs": {"x": object()}},
        {"after": ["nobody"]},
        {"after": 7},
        {"after": "t"},
        {"command": []},
        {"kind": 5},
        {"alpha": 2.0},
    ],
)
def test_tasks(options):
    wf = sl.Workflow("w")
    with pytest.raises(sl.BadInput) as error:
        wf.task("t", **options)
    assert str(error.value)
    # What was refused left nothing behind.
    wf.task("t", seconds=1)
    assert len(wf) == 1


def test_workflows():
    with pytest.raises(sl.BadInput, match="no tasks"):
        sl.Workflow("empty").plan(sl.read("small-cluster"))
    wf = sl.Workflow("w")
    wf.task("a", seconds=1, outputs=["x"], inputs={"y": 1})
    with pytest.raises(sl.BadInput, match="two tasks are named 'a'"):
        wf.task("a")
    wf.task("b", seconds=1, inputs=["x"], outputs=["y"])
    with pytest.raises(sl.BadInput, match="a -> b|b -> a"):
        wf.plan()
    other = sl.Workflow("o")
    other.task("a", inputs=["nothing"])
    with pytest.raises(sl.BadInput, match="'a' reads 'nothing'"):
        other.check()


def test_names():
    wf = sl.Workflow("w")
    wf.task("a", seconds=1)
    with pytest.raises(sl.BadInput, match="did you mean 'heft'"):
        wf.plan(None, "hefft")
    with pytest.raises(sl.BadInput, match="no policy"):
        wf.simulate(None, "slacklin")
    with pytest.raises(KeyError, match="no task 'b'"):
        wf.plan(None, "heft")["b"]
    with pytest.raises(sl.BadInput):
        wf.plan(None, "heft", parameters={"nothing": 1})
    with pytest.raises(sl.BadInput, match="no parameter"):
        sl.generate.daggen(100, tusks=3)
    with pytest.raises(AttributeError):
        sl.generate.nothing
    with pytest.raises(sl.BadInput) as error:
        sl.read("no/such/file.json")
    assert error.value.file == "no/such/file.json"


def test_files_say_where(tmp_path):
    bad = tmp_path / "bad.toml"
    bad.write_text('[task.a]\nwork = "2Gf"\nwrok = "1Gf"\n')
    with pytest.raises(sl.BadInput) as error:
        sl.read(bad)
    assert error.value.file == str(bad)
    assert error.value.place and error.value.place.startswith("3")


@pytest.mark.parametrize("options", [{"count": 0}, {"count": -1}, {"count": 2.5}, {"speed": "fast"}, {"speed": -1}, {"speed": math.nan}, {"link": "1GB"}, {"cores": 0}, {"latency": "1MB"}])
def test_platforms(options):
    given = {"count": 2, **options}
    with pytest.raises(sl.BadInput):
        sl.Platform.cluster(given.pop("count"), **given)


def test_matrices():
    np = pytest.importorskip("numpy")
    pf = sl.Platform.processors(3)
    costs = np.array([[14, 16, 9], [13, 19, 18]], dtype=">f4").T.T
    plan = sl.Workflow.from_costs(costs, [(0, 1, 18)]).plan(pf, "heft")
    assert plan.makespan == 27.0  # both on p1: 14 + 13, no transfer
    strided = np.arange(24.0).reshape(4, 6)[::2, ::2]
    assert len(sl.Workflow.from_costs(strided + 1.0)) == 2
    for wrong in ([[1.0, math.nan]], [[1.0], [1.0, 2.0]], [[-1.0]], np.zeros(3), [["x"]], np.zeros((2, 0)), [[math.inf]]):
        with pytest.raises(sl.BadInput):
            sl.Workflow.from_costs(wrong).plan(pf)
    for edges in ([(0, 5, 1)], [(0, 0, 1)], [(0, 1, math.nan)], [(1,)], [("t9", "t1", 1)]):
        with pytest.raises((sl.BadInput, ValueError)):
            sl.Workflow.from_costs([[1.0], [1.0]], edges)


def test_infeasible():
    wf = sl.Workflow("w")
    wf.task("huge", seconds=1, memory="100TB")
    with pytest.raises(sl.Infeasible, match="huge"):
        wf.plan(sl.read("small-cluster"), "heft")


def test_planners_that_are_wrong(wf, pf):
    def forgets(problem, partial):
        pass

    def too_early(problem, partial):
        partial.place("a", 0, start=0.0)
        partial.place("b", 0, start=0.0)

    def children_first(problem, partial):
        partial.place("b", 0)

    def twice(problem, partial):
        partial.place("a", 0)
        partial.place("a", 1)

    for fill, rule in ((forgets, "unscheduled"), (too_early, "overlap|precedence|data"), (children_first, "precedence"), (twice, "placed twice")):
        with pytest.raises(sl.BrokenRule, match=rule):
            wf.plan(pf, sl._methods.Planner(fill.__name__, fill))

    def raises(problem, partial):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        wf.plan(pf, sl._methods.Planner("raises", raises))

    def unknown(problem, partial):
        partial.place("nobody", 0)

    with pytest.raises(KeyError, match="nobody"):
        wf.plan(pf, sl._methods.Planner("unknown", unknown))

    def recurses(problem, partial):
        wf.plan(pf, sl._methods.Planner("recurses", recurses))

    with pytest.raises(sl.Refused, match="inside each other"):
        wf.plan(pf, sl._methods.Planner("recurses", recurses))
    with pytest.raises(sl.BadInput, match="already"):
        sl.planner("heft")(forgets)
    kept = []

    def keeps(problem, partial):
        kept.extend((problem, partial))
        for task in problem.tasks:
            partial.place(task, 0)

    wf.plan(pf, sl._methods.Planner("keeps", keeps))
    with pytest.raises(sl.Refused, match="during the call"):
        kept[1].ready


def test_dates_of_ones_own():
    """Tasks at dates of a planner share the cores of a host as far as there are any."""
    pf = sl.Platform.cluster(1, cores=4)
    wf = sl.Workflow("w")
    for name, cores in (("narrow", 1), ("wide", 2), ("later", 2), ("last", 1)):
        wf.task(name, seconds=4, cores=cores)

    def dated(starts):
        def fill(problem, partial):
            for task, start in starts.items():
                partial.place(task, problem.hosts[0], start=start)

        return sl._methods.Planner("dated", fill)

    plan = wf.plan(pf, dated({"narrow": None, "wide": 1, "later": 5, "last": 2}), check=False)
    assert [plan[task].start for task in ("narrow", "wide", "later", "last")] == [0, 1, 5, 2]
    assert plan.makespan == 9 and len(plan["wide"].processors) == 2
    # Before a gap is full, what has no date goes beside what has one.
    plan = wf.plan(pf, dated({"wide": 3, "later": None, "narrow": None, "last": None}), check=False)
    assert plan["later"].start == 0 and plan.makespan == 8.0
    with pytest.raises(sl.BrokenRule, match="overlap"):
        wf.plan(pf, dated({"wide": 0, "later": 1, "narrow": 2, "last": 9}))
    with pytest.raises(sl.BrokenRule):
        wf.plan(pf, dated({"wide": -1}))


def test_policies_that_are_wrong(wf, pf):
    def policy(react):
        return type("P", (sl.Policy,), {"react": react})()

    def raises(self, events, now):
        raise ZeroDivisionError("mine")
        yield

    with pytest.raises(ZeroDivisionError):
        wf.simulate(pf, policy(raises))
    for nonsense in (5, "text", [5], [None], ["b"], [sl.Start]):
        with pytest.raises((sl.Error, TypeError)):
            wf.simulate(pf, policy(lambda self, events, now, n=nonsense: n))
    with pytest.raises(KeyError):
        wf.simulate(pf, policy(lambda self, events, now: [sl.Start("nobody", on=0)]))
    with pytest.raises(sl.BrokenRule, match="Release"):
        wf.simulate(pf, policy(lambda self, events, now: [sl.Release(0)]))
    # A policy that does nothing does not finish, and that is no error.
    idle = wf.simulate(pf, policy(lambda self, events, now: None))
    assert not idle.finished and idle.why
    kept = []

    def keeps(self, events, now):
        kept.append(now)
        for task in now.ready:
            yield sl.Start(task, on=now.idle[0])

    assert wf.simulate(pf, policy(keeps)).finished
    with pytest.raises(sl.Refused, match="during the call"):
        kept[0].ready[0]
    with pytest.raises(NotImplementedError):
        wf.simulate(pf, sl.Policy())


def test_other_threads_cannot_use_a_situation(wf, pf):
    import threading

    seen = []

    class Threads(sl.Policy):
        def react(self, events, now):
            def look():
                try:
                    now.idle
                except Exception as error:
                    seen.append(error)

            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
            for task in now.ready:
                yield sl.Start(task, on=now.idle[0])

    assert wf.simulate(pf, Threads()).finished
    assert seen and all(isinstance(error, sl.Refused) for error in seen)


def test_control_c_ends_a_callback(wf, pf):
    import _thread
    import threading

    class Endless(sl.Policy):
        def react(self, events, now):
            threading.Timer(0.2, _thread.interrupt_main).start()
            while True:
                pass

    with pytest.raises(KeyboardInterrupt):
        wf.simulate(pf, Endless())


def test_graphs():
    nx = pytest.importorskip("networkx")
    for graph in (nx.Graph([(1, 2)]), nx.MultiDiGraph([(1, 2), (1, 2)]), nx.DiGraph([(1, 2), (2, 1)]), nx.DiGraph()):
        with pytest.raises(sl.BadInput):
            sl.Workflow.from_networkx(graph)
    wrong = nx.DiGraph()
    wrong.add_node("a", work="much")
    with pytest.raises(sl.BadInput):
        sl.Workflow.from_networkx(wrong)
    wrong = nx.DiGraph()
    wrong.add_edge("a", "b", data=-5)
    with pytest.raises(sl.BadInput, match="'a' -> 'b'"):
        sl.Workflow.from_networkx(wrong)

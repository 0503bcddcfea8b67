"""Whatever is given: an answer, or an error of the tree."""

from __future__ import annotations

import os

import pytest

import slackline as sl

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, given, settings, strategies as st

EXAMPLES = int(os.environ.get("SLACKLINE_FUZZ_EXAMPLES", "300"))
ALLOWED = (sl.Error, KeyError)

quantity = st.one_of(
    st.floats(),
    st.integers(),
    st.sampled_from(["1s", "2Gf", "10MB", "1h", "-1s", "", "1e400s", "x", "5 MB", "NaN"]),
    st.booleans(),
    st.none(),
)
name = st.one_of(st.sampled_from(["a", "b", "c", "", "\x00", "x" * 300, "é", "a:b", "a/../b"]), st.integers())
names = st.one_of(st.lists(name, max_size=3), st.dictionaries(name, quantity, max_size=3), name, quantity)
task = st.fixed_dictionaries(
    {},
    optional={
        "seconds": quantity,
        "work": quantity,
        "inputs": names,
        "outputs": names,
        "after": names,
        "cores": st.one_of(quantity, st.tuples(st.integers(), st.integers())),
        "memory": quantity,
        "alpha": quantity,
        "kind": name,
        "command": st.one_of(name, st.lists(name, max_size=2)),
    },
)
cluster = st.fixed_dictionaries(
    {"count": st.one_of(st.integers(-1, 5), quantity)},
    optional={"cores": st.one_of(st.integers(-1, 4), quantity), "speed": quantity, "link": quantity, "latency": quantity, "price": quantity, "name": name},
)
options = st.fixed_dictionaries(
    {},
    optional={"budget": quantity, "deadline": quantity, "seed": st.one_of(st.integers(), quantity), "iterations": st.one_of(st.integers(-1, 3), st.text(max_size=2)), "inputs": name, "parameters": st.one_of(st.dictionaries(name, quantity, max_size=2), quantity)},
)
planner = st.one_of(st.sampled_from(["heft", "best", "within-limits", "peft", "random", ""]), name)
policy = st.one_of(st.sampled_from(["static", "slackline", "just-in-time", "gtp"]), name)
platform = sl.Platform.cluster(2, cores=2)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(tasks=st.lists(st.tuples(name, task), max_size=5), planner=planner, policy=policy, given=options)
def test_workflows(tasks, planner, policy, given):
    wf = sl.Workflow("fuzzed")
    for label, facts in tasks:
        try:
            wf.task(label, **facts)
        except ALLOWED:
            pass
    if planner == "best" or "iterations" not in given:
        given = {**given, **({"iterations": 1} if planner == "best" else {})}
    for work in (lambda: wf.plan(platform, planner, **given), lambda: wf.simulate(platform, policy), lambda: wf.to_networkx()):
        try:
            work()
        except ALLOWED:
            pass


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(facts=cluster)
def test_platforms(facts):
    try:
        sl.Platform.cluster(facts.pop("count"), **facts)
    except ALLOWED:
        pass


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.one_of(st.text(max_size=200), st.sampled_from(["[task.a]\n", '{"schemaVersion": "1.5"}', "<adag/>"]).flatmap(lambda head: st.text(max_size=50).map(lambda tail: head + tail))))
def test_texts(text):
    for make in (sl.Platform.from_toml, sl.Scenario.from_text):
        try:
            make(text)
        except ALLOWED:
            pass


@settings(max_examples=EXAMPLES // 3 + 1, deadline=None, suppress_health_check=list(HealthCheck))
@given(costs=st.lists(st.lists(st.one_of(st.floats(), st.integers(0, 9)), max_size=3), max_size=4), edges=st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4), quantity), max_size=4))
def test_matrices(costs, edges):
    try:
        sl.Workflow.from_costs(costs, edges).plan(sl.Platform.processors(2), "heft")
    except ALLOWED:
        pass


@settings(max_examples=EXAMPLES // 3 + 1, deadline=None, suppress_health_check=list(HealthCheck))
@given(moves=st.lists(st.tuples(st.sampled_from(["Start", "Cancel", "Rewind", "WakeAt", "GiveUp", "Drop", "Copy", "Adopt", "Restore", "Release", "Lease"]), name, st.one_of(st.integers(-1, 3), name, quantity)), max_size=6))
def test_policies(moves):
    wf = sl.Workflow("w")
    wf.task("a", seconds=1, outputs={"f": 10})
    wf.task("b", seconds=1, inputs=["f"])
    left = iter(moves)

    class Random(sl.Policy):
        strict = False

        def react(self, events, now):
            for verb, subject, detail in left:
                make = getattr(sl, verb)
                two = verb in ("Start", "Drop", "Copy")
                yield make(subject, detail) if two else make(subject)
                return
            for task in now.ready:
                yield sl.Start(task, on=now.idle[0])

    try:
        wf.simulate(platform, Random())
    except (*ALLOWED, TypeError):
        pass

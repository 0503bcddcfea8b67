"""A policy written in Python decides as the one in the library does."""

from __future__ import annotations

import pytest

import slackline as sl


class JustInTime(sl.Policy):
    """Ready tasks by falling rank, each to the idle processor that is expected to end it first."""

    dispatches = True

    def __init__(self):
        self.ranks = None

    def react(self, events, now):
        if any(event.kind in ("host-lost", "copy-lost") for event in events):
            lost = now.lost
            if lost:
                yield sl.Rewind(lost)
        if self.ranks is None or any(event.kind == "tasks-added" for event in events):
            self.ranks = now.ranks()
        for task in now.ready_by(self.ranks):
            place = now.quickest(task)
            if place is not None:
                yield sl.Start(task, on=place[0])


def decisions(run):
    return [(call["at"], call["decisions"]) for call in run.decisions if call["decisions"]]


@pytest.mark.parametrize("part", range(10))
def test_it_decides_the_same_under_failures(part):
    lost = 0
    for seed in range(part * 20, part * 20 + 20):
        kind = ["daggen", "montage", "epigenomics", "layered"][seed % 4]
        wf = sl.generate.workflow(kind, tasks=30 + seed % 30, seed=seed)
        pf = sl.read("small-cluster") if seed % 2 else sl.Platform.cluster(6, cores=2, speed="2Gf")
        makespan = wf.plan(pf, "heft", check=False).makespan
        scenario = sl.generate.failures(seed=seed, mtbf=f"{makespan}s", repair=f"{makespan / 4}s")
        ours = wf.simulate(pf, JustInTime(), scenario=scenario)
        theirs = wf.simulate(pf, "just-in-time", scenario=scenario)
        assert ours.makespan == theirs.makespan, seed
        assert decisions(ours) == decisions(theirs), seed
        lost += theirs.counts["hosts_lost"]
    assert lost > 0

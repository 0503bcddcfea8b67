"""Objects of other packages, tables and pictures."""

from __future__ import annotations

import re
from dataclasses import make_dataclass

import pytest

import slackline as sl


def frozen(name, *fields):
    return make_dataclass(name, fields, frozen=True)


def test_graphs_of_networkx_come_back():
    pytest.importorskip("networkx")
    wf = sl.generate.montage(tasks=50, seed=3)
    graph = wf.to_networkx()
    again = sl.Workflow.from_networkx(graph)
    back = again.to_networkx()
    work = [(task, facts["work"]) for task, facts in graph.nodes(data=True)]
    assert work == [(task, facts["work"]) for task, facts in back.nodes(data=True)]
    assert {(s, t): data for s, t, data in graph.edges(data="data")} == {(s, t): data for s, t, data in back.edges(data="data")}
    assert list(again.to_pandas()["work"]) == list(wf.to_pandas()["work"])


def test_tables(wf, pf):
    np = pytest.importorskip("numpy")
    pytest.importorskip("pandas")
    costs = wf.costs(pf)
    assert costs.shape == (2, 8) and np.allclose(costs[0], 1.5)
    run = wf.simulate(pf, "slackline")
    assert set(run.to_pandas().columns) >= {"task", "host", "start", "finish"}
    assert list(run.transfers_to_pandas().columns)[:3] == ["file", "source", "target"]
    assert list(wf.files_to_pandas()["file"]) == ["x"]
    assert list(pf.to_pandas()["cores"]) == [4] * 8


def test_objects_of_saga_and_wfcommons():
    task, edge = frozen("task", "name", "cost"), frozen("edge", "source", "target", "size")
    node, link = frozen("node", "name", "speed"), frozen("link", "source", "target", "speed")
    graph = frozen("graph", "tasks", "dependencies")({task("a", 2.0), task("b", 1.0)}, {edge("a", "b", 5.0)})
    network = frozen("network", "nodes", "edges")({node("n1", 1.0), node("n2", 2.0)}, {link("n1", "n2", 10.0)})
    plan = sl.Workflow.from_saga(graph).plan(sl.Platform.from_saga(network), "heft", check=False)
    assert plan.makespan == 1.5
    file = frozen("file", "file_id", "size")
    job = frozen("job", "program", "runtime", "cores", "memory", "input_files", "output_files", "task_parents")
    tasks = {
        "t1": job("p", 2.0, 1, None, [], [file("f", 10)], []),
        "t2": job("q", 1.0, 1, None, [file("f", 10)], [], ["t1"]),
    }
    wf = sl.Workflow.from_wfcommons(frozen("workflow", "name", "tasks")("w", tasks))
    assert wf.edge_count == 1 and wf.plan(sl.Platform.processors(1), "heft").makespan == pytest.approx(3.0)


def test_pictures_are_small_and_need_nothing(pf):
    wf = sl.generate.daggen(10_000, seed=1)
    plan = wf.plan(pf, "heft", check=False)
    run = wf.simulate(pf, "just-in-time")
    for picture in (wf._repr_svg_(), plan._repr_svg_(), run._repr_svg_()):
        assert picture.startswith("<svg") and len(picture) < 300_000
        assert "<script" not in picture
        links = [link for link in re.findall(r"https?://[^\"' )]+", picture) if "www.w3.org" not in link]
        assert not links
        assert "prefers-color-scheme" in picture
    assert "<table" in pf._repr_html_()


def test_axes_of_matplotlib(wf, pf):
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, axes = plt.subplots()
    sl.compare([wf], [pf], ["heft", "slackline"]).boxplot(axes=axes)
    assert len(axes.get_xticklabels()) == 2
    plt.close(figure)


def test_many_processes(pf):
    from concurrent.futures import ProcessPoolExecutor
    import multiprocessing

    workflows = [sl.generate.daggen(20, seed=seed) for seed in range(4)]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        spans = list(pool.map(makespan, workflows, [pf] * 4))
    assert spans == [wf.plan(pf, "heft").makespan for wf in workflows]


def makespan(wf, pf):
    return wf.plan(pf, "heft").makespan


def test_threads_work_side_by_side(pf):
    from concurrent.futures import ThreadPoolExecutor

    wf = sl.generate.daggen(50, seed=1)
    with ThreadPoolExecutor(4) as pool:
        spans = list(pool.map(lambda _: wf.simulate(pf, "slackline").makespan, range(8)))
    assert len(set(spans)) == 1

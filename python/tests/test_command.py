"""The package and the command are the same: documents are equal byte by byte."""

from __future__ import annotations

import os

import pytest

import slackline as sl
from slackline import _native

from conftest import EXAMPLES, command, same

WORKFLOWS = sorted(path.name for path in (EXAMPLES / "workflows").iterdir())
#: Files that bring their processors along, and those that ask for a platform of their own.
ALONE = {"heft-2002.json", "peft-2014.json"}
ELSEWHERE = {"gpu-training.toml": "gpu-cluster", "samples.toml": "gpu-cluster"}


def platform_of(workflow: str) -> str | None:
    return None if workflow in ALONE else ELSEWHERE.get(workflow, "small-cluster")

#: Searches without limits of their own: the same seed and few iterations.
SEARCHES = {"best", "exact", "aco", "sa", "tabu", "ga", "ga-qos", "nsga2"}


def plans_equal(path: str, planner: str, platform: str | None) -> bool:
    """Whether Python and command make the same plan; false where neither can."""
    words = ["plan", path, "--algorithm", planner, "--json", "--quiet"]
    options: dict[str, object] = {}
    if platform:
        words += ["--platform", platform]
    if planner in SEARCHES:
        words += ["--iterations", "20", "--seed", "3"]
        options = {"iterations": 20, "seed": 3}
        if planner == "exact":
            words, options = words[:-2], {"iterations": 20}
            words += ["--seed", "3"]
            options["seed"] = 3
    code, out, err = _native.captured(["slackline", *words])
    pf = sl.read(platform) if platform else None
    wf = sl.read(path)
    try:
        document = wf.plan(pf, planner, **options).to_json()
    except sl.Error as error:
        assert code != 0, f"{planner} on {path}: {error}"
        assert error.message in err, (error.message, err)
        return False
    assert code == 0, (planner, path, err)
    assert same(document, out), (planner, path)
    return True


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_every_planner(workflow):
    path = str(EXAMPLES / "workflows" / workflow)
    platform = platform_of(workflow)
    done = [info.name for info in sl.planners() if info.source != "added by the program" and plans_equal(path, info.name, platform)]
    assert done or workflow == "assembly.toml"
    assert len(done) > 30 or workflow in ELSEWHERE or workflow == "assembly.toml", done


def runs_equal(path: str, policy: str, platform: str | None) -> bool:
    """Whether Python and command simulate the same run; false where neither can."""
    words = ["simulate", path, *(["--platform", platform] if platform else []), "--policy", policy, "--json", "--quiet"]
    code, out, err = _native.captured(["slackline", *words])
    wf, pf = sl.read(path), None if platform is None else sl.read(platform)
    try:
        run = wf.simulate(pf, policy)
    except sl.Error as error:
        assert code != 0 and error.message in err, (policy, error.message, err)
        return False
    assert same(run.to_json(), out), policy
    return True


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_every_policy(workflow):
    path, platform = str(EXAMPLES / "workflows" / workflow), platform_of(workflow)
    policies = [info.name for info in sl.policies() if info.source != "added by the program"]
    done = [name for name in policies if runs_equal(path, name, platform)]
    assert len(done) > 15 or workflow in ELSEWHERE or workflow == "assembly.toml"


#: Every planner and policy meets a fifth of the generated workflows; with SLACKLINE_ALL=1 all of them.
SHARE = 1 if os.environ.get("SLACKLINE_ALL") else 5


@pytest.mark.parametrize("seed", range(50))
def test_generated_workflows(seed):
    kind = ["daggen", "montage", "epigenomics", "blast", "layered"][seed // 5 % 5]
    command("generate", "workflow", kind, "--tasks", "40", "--seed", str(seed), "-o", "wf.json", "--quiet")
    known = [info for info in sl.planners() if info.source != "added by the program"]
    chosen = [info for at, info in enumerate(known) if (at + seed) % SHARE == 0]
    planned = [info.name for info in chosen if plans_equal("wf.json", info.name, "small-cluster")]
    assert set(planned) >= {info.name for info in chosen if not info.needs and info.family in ("list", "simple")}
    policies = [info.name for info in sl.policies() if info.source != "added by the program"]
    ran = [name for at, name in enumerate(policies) if (at + seed) % SHARE == 0 and runs_equal("wf.json", name, "small-cluster")]
    assert ran
    # A workflow that never was a file plans the same.
    made = getattr(sl.generate, kind)(tasks=40, seed=seed)
    pf = sl.read("small-cluster")
    assert made.plan(pf, "heft").makespan == pytest.approx(sl.read("wf.json").plan(pf, "heft").makespan, rel=1e-9)


def test_the_command_is_in_the_wheel():
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-m", "slackline", "--version"], capture_output=True, text=True, check=True)
    assert sl.__version__ in done.stdout
    failed = subprocess.run([sys.executable, "-m", "slackline", "plan", "no.such"], capture_output=True, text=True)
    assert failed.returncode == 2 and "no.such" in failed.stderr


def test_scenarios_are_those_of_the_command():
    command("generate", "scenario", "sce", "--variability", "50", "--seed", "7", "-p", "two-site-grid", "-o", "s.toml", "--quiet")
    pf = sl.read("two-site-grid")
    wf = sl.read("montage")
    out = command("simulate", "montage", "-p", "two-site-grid", "--scenario", "s.toml", "--policy", "slackline", "--json", "--quiet")
    assert same(wf.simulate(pf, "slackline", scenario="s.toml").to_json(), out)
    drawn = wf.simulate(pf, "slackline", scenario=sl.generate.sce(50, seed=7))
    assert drawn.makespan == wf.simulate(pf, "slackline", scenario="s.toml").makespan

"""Runs on real machines, and what long work shows and ends by."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

import slackline as sl

from conftest import ROOT


class Greedy(sl.Policy):
    def react(self, events, now):
        for task in now.ready:
            yield sl.Start(task, on=min(now.idle, key=lambda h: now.seconds(task, h)))


def chain(count: int) -> sl.Workflow:
    """Tasks one after another; each adds a line to a file outside the run, so that what runs twice is seen."""
    wf = sl.Workflow("chain")
    for at in range(count):
        wf.task(
            f"t{at}",
            seconds=0.05,
            inputs=[f"f{at - 1}"] if at else [],
            outputs=[f"f{at}"],
            command=["sh", "-c", f"echo t{at} >> {Path('done').absolute()}; echo t{at} > f{at}"],
        )
    return wf


def test_tasks_may_be_the_command_itself():
    sl.command("generate", "workflow", "blast", "--tasks", "6", "--runnable", "--mean-seconds", "0.01", "--mean-size", "1kB", "-o", "m/w.json")
    run = sl.read("m/w.json").run(folder="r", cores=2)
    assert run.finished and run.counts["failures"] == 0
    # So may those of the command that the wheel installs.
    words = [sys.executable, "-m", "slackline", "run", "m/w.json", "--folder", "r2", "--cores", "2", "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_run_is_resumed_with_its_policy():
    class Stops(Greedy):
        name = "mine"

        def react(self, events, now):
            if now.done >= 2:
                raise ZeroDivisionError("enough")
            return super().react(events, now)

    class Goes(Greedy):
        name = "mine"

    wf = chain(5)
    with pytest.raises(ZeroDivisionError):
        wf.run(policy=Stops(), folder="r", cores=1)
    with pytest.raises(sl.Error, match="mine"):
        sl.resume("r")
    run = sl.resume("r", Goes())
    assert run.finished and len(run) == 5 and run.folder == "r" and run.policy == "mine"
    assert Path("done").read_text().split() == [f"t{at}" for at in range(5)]
    assert run.request["schema"] == "slackline/run-request/1"
    with pytest.raises(sl.Error) as error:
        sl.resume("nowhere")
    assert "nowhere" in str(error.value)


def test_control_c_ends_a_run_in_order():
    wf = sl.Workflow("long")
    wf.task("a", seconds=60, outputs=["x"], command="sleep 60; echo > x")
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        wf.run(folder="r", cores=1)
    timer.join()
    assert time.monotonic() - begin < 20
    # Nothing is left behind that works, and the run can go on.
    assert not subprocess.run(["pgrep", "-f", str(Path("r/hosts").absolute())], capture_output=True).stdout
    assert Path("r/log.jsonl").exists()


def test_control_c_ends_a_simulation():
    wf = sl.generate.daggen(5000, seed=1)
    pf = sl.Platform.cluster(16, cores=4)
    scenario = sl.generate.sce(50, seed=1)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            wf.simulate(pf, "slackline", scenario=scenario, trace=False)
    timer.join()
    assert time.monotonic() - begin < 30


def test_progress_is_shown_by_tqdm(pf, capsys):
    pytest.importorskip("tqdm")
    wf = sl.generate.montage(tasks=60, seed=1)
    plan = wf.plan(pf, "best", iterations=50, seed=1, progress=True)
    assert "best" in capsys.readouterr().err
    assert plan.to_json() and plan.makespan == wf.plan(pf, "best", iterations=50, seed=1).makespan
    assert chain(3).run(policy=Greedy(), folder="r", cores=1, progress=True).finished
    assert "3/3" in capsys.readouterr().err
    t = sl.compare([wf], [pf], ["heft"], repeat=2, progress=True)
    assert len(t) == 2 and "2/2" in capsys.readouterr().err


def test_any_command():
    assert "montage" in sl.command("show", "montage")
    with pytest.raises(sl.BadInput, match="no-such-file"):
        sl.command("plan", Path("no-such-file"))
    with pytest.raises(sl.BadInput, match="plann"):
        sl.command("plann")


@pytest.mark.skipif(not all(map(shutil.which, ("slurmctld", "slurmd", "munged", "sbatch"))), reason="no Slurm")
def test_pilots_on_slurm(monkeypatch):
    # Munge wants a folder that everybody can enter.
    folder = Path(tempfile.mkdtemp(prefix="slackline-"))
    folder.chmod(0o755)
    started = subprocess.run([ROOT / "ci/slurm/start", folder / "slurm", "2"], capture_output=True, text=True)
    if started.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"no Slurm here: {started.stderr.strip()[-200:]}")
    try:
        monkeypatch.setenv("SLURM_CONF", str(folder / "slurm" / "slurm.conf"))
        monkeypatch.chdir(folder)
        pf = sl.Platform.from_toml("[network]\nbandwidth = '1GBps'\n[host.n1]\nspeed = '1Gf'\n[host.n2]\nspeed = '1Gf'\n")
        wf = sl.Workflow("two")
        for name in "ab":
            wf.task(name, seconds=1, outputs=[name], command=f"sleep 1; hostname > {name}")
        run = wf.run(pf, policy=Greedy(), on="slurm", folder="r", slurm={"listen": "127.0.0.1"})
        assert run.finished and {run["a"].host, run["b"].host} <= {"n1", "n2"}
    finally:
        subprocess.run([ROOT / "ci/slurm/stop", folder / "slurm"], capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)

"""Orders of jobs: by upward rank, or by the plan of the command slackline."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import List, Optional, Sequence

#: Seconds that the command may take.
PATIENCE = 60


def upward_ranks(parents: Sequence[Sequence[int]], seconds: Sequence[float]) -> List[float]:
    """For each job, the length of the longest chain that begins with it."""
    children: List[List[int]] = [[] for _ in parents]
    waiting = [0] * len(parents)
    for job, of_job in enumerate(parents):
        for parent in of_job:
            children[parent].append(job)
            waiting[parent] += 1
    ranks = [0.0] * len(parents)
    ready = [job for job, count in enumerate(waiting) if count == 0]
    while ready:
        job = ready.pop()
        ranks[job] = seconds[job] + max((ranks[child] for child in children[job]), default=0.0)
        for parent in parents[job]:
            waiting[parent] -= 1
            if waiting[parent] == 0:
                ready.append(parent)
    return ranks


def by_planner(
    planner: str,
    command: str,
    jobs: Sequence,
    parents: Sequence[Sequence[int]],
    seconds: Sequence[float],
    cores: int,
    logger,
) -> Optional[List[int]]:
    """Jobs in the order of their starts in a plan, or nothing where the command does not make one."""
    program = shutil.which(command)
    if program is None:
        logger.warning(f"{command}: no such command; jobs are ordered by rank")
        return None
    cores = min(cores, max(1, len(jobs)))
    width = [min(max(int(job.scheduler_resources.get("_cores", 1)), 1), cores) for job in jobs]
    lines = ["name = 'snakemake'"]
    for job, of_job in enumerate(parents):
        after = json.dumps([f"j{parent}" for parent in of_job])
        lines.append(f"\n[task.j{job}]\ntime = '{float(seconds[job])}s'\nafter = {after}")
        if width[job] > 1:
            lines.append(f"cores = {width[job]}")
    platform = f"[host.here]\ncores = {cores}\nspeed = '1Gf'\n"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "workflow.toml").write_text("\n".join(lines) + "\n")
        (place / "platform.toml").write_text(platform)
        call = [program, "plan", "workflow.toml", "-p", "platform.toml", "-a", planner]
        call += ["-o", "plan.json", "--quiet"]
        try:
            done = subprocess.run(
                call, cwd=place, capture_output=True, text=True, timeout=PATIENCE, check=False
            )
            if done.returncode != 0:
                logger.warning(f"{command}: {done.stderr.strip()}; jobs are ordered by rank")
                return None
            plan = json.loads((place / "plan.json").read_text())
            starts = {entry["task"]: float(entry["start"]) for entry in plan["schedule"]}
            return sorted(range(len(jobs)), key=lambda job: (starts[f"j{job}"], job))
        except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as error:
            logger.warning(f"{command}: {error}; jobs are ordered by rank")
            return None

"""A scheduler that starts the jobs first on whose results the rest of the workflow waits longest."""

from dataclasses import dataclass, field
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from snakemake_interface_scheduler_plugins.base import SchedulerBase
from snakemake_interface_scheduler_plugins.settings import SchedulerSettingsBase

from .history import History
from .order import by_planner, upward_ranks

#: Resources that stand for something else than an amount a job holds.
_NOT_HELD = frozenset(["_nodes"])


@dataclass
class SchedulerSettings(SchedulerSettingsBase):
    """Options of the command line, each with the prefix --scheduler-slackline-."""

    planner: Optional[str] = field(
        default="rank",
        metadata={
            "help": "Order of the jobs: 'rank' is the length of the longest chain of "
            "successors, any other name a planner of the command slackline."
        },
    )
    command: Optional[str] = field(
        default="slackline",
        metadata={"help": "The command slackline, for --scheduler-slackline-planner."},
    )


class Scheduler(SchedulerBase):
    """Ranks all jobs whenever new ones appear and selects the first that fit."""

    def __post_init__(self) -> None:
        self._history: Optional[History] = None
        # By identity: the job, kept so that no other gets its number, and its place in the order.
        self._places: Dict[int, Tuple[object, int]] = {}
        self._cores: Optional[int] = None

    def dag_updated(self) -> None:
        """Forgets the order: the graph has changed."""
        self._places = {}

    def select_jobs(
        self,
        selectable_jobs: Sequence,
        remaining_jobs: Sequence,
        available_resources: Mapping[str, object],
        input_sizes: Dict,
    ) -> Optional[Sequence]:
        """Returns the first jobs in the order of ranks that fit into the resources together."""
        free = {
            name: amount
            for name, amount in available_resources.items()
            if isinstance(amount, int) and name not in _NOT_HELD
        }
        if self._cores is None:
            self._cores = free.get("_cores")
        places = self._places
        keyed = []
        for job in selectable_jobs:
            known = places.get(id(job))
            if known is None:
                # A group is as urgent as its most urgent member; a job that is new changes all ranks.
                known = self._of_group(job)
                if known is None:
                    self._rank(selectable_jobs, remaining_jobs)
                    return self._select_ranked(selectable_jobs, free)
            keyed.append((known[1], len(keyed), job))
        return _fill(keyed, free)

    def _select_ranked(self, selectable_jobs: Sequence, free: Dict[str, int]) -> List:
        keyed = []
        last = len(self._places)
        for job in selectable_jobs:
            known = self._places.get(id(job)) or self._of_group(job)
            keyed.append((known[1] if known else last, len(keyed), job))
        return _fill(keyed, free)

    def _of_group(self, job) -> Optional[Tuple[object, int]]:
        members = getattr(job, "jobs", None)
        if members is None:
            return None
        members = members() if callable(members) else members
        places = [self._places.get(id(member)) for member in members]
        if not places or None in places:
            return None
        known = (job, min(place for _, place in places))
        self._places[id(job)] = known
        return known

    def _rank(self, selectable_jobs: Sequence, remaining_jobs: Sequence) -> None:
        if self._history is None:
            self._history = History(self.logger)
        jobs = list(self.dag.needrun_jobs())
        seen = {id(job) for job in jobs}
        for job in [*remaining_jobs, *selectable_jobs]:
            if id(job) not in seen and not hasattr(job, "jobs"):
                seen.add(id(job))
                jobs.append(job)
        index = {id(job): at for at, job in enumerate(jobs)}
        parents: List[List[int]] = []
        for job in jobs:
            of_job = (index.get(id(parent)) for parent in self.dag.job_dependencies(job))
            parents.append([at for at in of_job if at is not None])
        seconds = [self._history.seconds(job) for job in jobs]
        order = None
        planner = (self.settings.planner if self.settings else None) or "rank"
        if planner != "rank":
            order = by_planner(
                planner,
                self.settings.command or "slackline",
                jobs,
                parents,
                seconds,
                self._cores or 1,
                self.logger,
            )
        if order is None:
            ranks = upward_ranks(parents, seconds)
            order = sorted(range(len(jobs)), key=lambda at: -ranks[at])
        # Priorities of the Snakefile go before.
        order.sort(key=lambda at: -jobs[at].priority)
        self._places = {id(jobs[at]): (jobs[at], place) for place, at in enumerate(order)}


def _fill(keyed: List[Tuple[int, int, object]], free: Dict[str, int]) -> List:
    """The first jobs in order that fit together."""
    keyed.sort()
    selected = []
    for _, _, job in keyed:
        # Every job takes a core and a place among the jobs, but those that hold nothing at all.
        if free.get("_job_count", 1) <= 0:
            break
        needs = job.scheduler_resources
        held = []
        for name, amount in free.items():
            need = needs.get(name, 0)
            if isinstance(need, int) and need:
                if need > amount:
                    break
                held.append((name, need))
        else:
            for name, need in held:
                free[name] -= need
            selected.append(job)
            continue
        if free.get("_cores", 1) <= 0:
            break
    return selected

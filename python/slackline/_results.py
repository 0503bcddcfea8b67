"""Plans, runs and what they are made of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from . import _native
from ._optional import need
from ._requests import Document

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Placement:
    """Where and when a task runs: its host (all of them in `hosts`), processors, and dates in seconds."""

    task: str
    host: str
    hosts: tuple[str, ...] = field(repr=False)
    processors: tuple[int, ...] = field(repr=False)
    start: float
    finish: float

    @property
    def seconds(self) -> float:
        """How long it runs."""
        return self.finish - self.start


def _placement(row: tuple[str, str, list[str], list[int], float, float]) -> Placement:
    task, host, hosts, processors, start, finish = row
    return Placement(task, host, tuple(hosts), tuple(processors), start, finish)


class Transfer(NamedTuple):
    """A file that moves between hosts."""

    file: str
    source: str
    target: str
    bytes: float
    start: float
    finish: float
    arrived: bool


class _Result:
    """What plans and runs share."""

    _native: Any
    request: Document
    _answer: str
    _at: int

    def __init__(self, native: Any, request: Document, answer: str, at: int) -> None:
        self._native = native
        self.request = request
        self._answer = answer
        self._at = at

    def __getitem__(self, task: Any) -> Placement:
        return _placement(self._native.row(task))

    def __len__(self) -> int:
        return len(self._native)

    def __iter__(self) -> Iterator[Placement]:
        columns = self._native.columns()
        return (self[name] for name in columns["task"])

    def __contains__(self, task: Any) -> bool:
        try:
            self._native.row(task)
        except KeyError:
            return False
        return True

    @property
    def makespan(self) -> float:
        """When the last task ends, in seconds."""
        makespan: float = self._native.makespan
        return makespan

    @property
    def cost(self) -> float:
        """What the machines cost."""
        cost: float = self._native.cost
        return cost

    def to_pandas(self) -> pandas.DataFrame:
        """Tasks, hosts and dates as a table."""
        return need("pandas", "to_pandas").DataFrame(self._native.columns())

    def transfers(self) -> list[Transfer]:
        """Files that move between hosts."""
        rows: list[tuple[Any, ...]] = self._native.transfers()
        # Those of plans all arrive.
        return [Transfer._make(row if len(row) == 7 else (*row, True)) for row in rows]

    def transfers_to_pandas(self) -> pandas.DataFrame:
        """Files that move between hosts as a table."""
        return need("pandas", "transfers_to_pandas").DataFrame(self.transfers(), columns=list(Transfer._fields))

    def utilisation(self) -> dict[str, float]:
        """The share of its cores' time until the end in which each host computes."""
        return dict(self._native.shares())

    def to_svg(self) -> str:
        """A Gantt chart as SVG."""
        svg: str = self._native.svg()
        return svg

    def _repr_svg_(self) -> str:
        from ._notebook import fitted

        return fitted(self._native.svg(True))

    def to_dict(self) -> Document:
        """The document of the command as a table."""
        document: Document = json.loads(self.to_json())
        return document

    def to_json(self) -> str:
        """The document that the command prints with `--json`."""
        return self._answer

    def save(self, path: str) -> None:
        """Writes the chart (`.svg`) or the document (`.json`)."""
        text = self.to_svg() if str(path).endswith(".svg") else self.to_json()
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)


class Plan(_Result):
    """Where and when every task is to run: `plan["a"].host`, `.start`, `.finish`."""

    all: Plans

    @classmethod
    def _of(cls, native: Any, request: Document, answer: str, at: int) -> Plan:
        return cls(native, request, answer, at)

    @property
    def name(self) -> str:
        """The planner, under which the plan is in requests."""
        return "plan"

    @property
    def algorithm(self) -> str:
        """The planner."""
        algorithm: str = self._native.algorithm
        return algorithm

    @property
    def bound(self) -> float:
        """No plan ends before this date, in seconds."""
        bound: float = self._native.bound
        return bound

    @property
    def simulated(self) -> float | None:
        """The end when the simulator follows the plan, where it does."""
        simulated: float | None = self._native.simulated
        return simulated

    @property
    def feasible(self) -> bool:
        """Whether it keeps to the limits that were given."""
        return not self._native.missed

    @property
    def missed(self) -> list[str]:
        """The limits that it misses, in words."""
        missed: list[str] = self._native.missed
        return missed

    def schedule_json(self) -> str:
        """The plan as a schedule file, which `slackline simulate --schedule` follows."""
        text: str = self._native.schedule_json
        return text

    def __reduce__(self) -> Any:
        return (FrozenPlan, (self.request, self._answer, self._at, *_kept(self)))

    def __repr__(self) -> str:
        return f"<plan by {self.algorithm}: {len(self)} tasks, makespan {self.makespan:g} s>"


class Run(_Result):
    """What was done where and when, and what was decided."""

    @classmethod
    def _of(cls, native: Any, request: Document, answer: str, at: int) -> Run:
        return cls(native, request, answer, at)

    @property
    def policy(self) -> str:
        """The policy."""
        policy: str = self._native.policy
        return policy

    @property
    def finished(self) -> bool:
        """Whether all tasks are done."""
        finished: bool = self._native.finished
        return finished

    @property
    def why(self) -> str | None:
        """Why it could not finish."""
        why: str | None = self._native.why
        return why

    @property
    def planned(self) -> float:
        """The end of the first plan, in seconds."""
        planned: float = self._native.planned
        return planned

    @property
    def counts(self) -> dict[str, float]:
        """Figures of the run: replannings, migrations, failures, lost hosts, transfers, bytes."""
        counts: dict[str, float] = self._native.counts()
        return counts

    @property
    def folder(self) -> str | None:
        """The folder of a run on real machines."""
        folder: str | None = self._native.folder
        return folder

    @cached_property
    def decisions(self) -> list[Document]:
        """What the policy was notified of and decided, call by call."""
        lines = self._native.decision_lines().splitlines()
        return [json.loads(line) for line in lines[1:]]

    @cached_property
    def trace(self) -> Trace:
        """What happened, event by event."""
        lines = self._native.trace_lines().splitlines()
        return Trace([json.loads(line) for line in lines])

    def __reduce__(self) -> Any:
        return (FrozenRun, (self.request, self._answer, self._at, *_kept(self)))

    def __repr__(self) -> str:
        end = f"makespan {self.makespan:g} s" if self.finished else f"cannot finish: {self.why}"
        return f"<run under {self.policy}: {len(self)} tasks done, {end}>"


def _kept(result: _Result) -> tuple[Any, ...]:
    """What is kept of a plan or run in a pickle."""
    native = result._native
    names = native.columns()["task"]
    figures = {
        name: getattr(native, name)
        for name in ("makespan", "cost", "algorithm", "bound", "simulated", "missed", "schedule_json", "is_best")
        if hasattr(native, name)
    }
    figures.update(
        {name: getattr(native, name) for name in ("policy", "finished", "why", "planned", "folder") if hasattr(native, name)}
    )
    calls: dict[str, Any] = {
        "svg": native.svg(True),
        "shares": native.shares(),
        "transfers": native.transfers(),
        "columns": native.columns(),
        "rows": {name: native.row(name) for name in names},
    }
    if hasattr(native, "counts"):
        calls["counts"] = native.counts()
        calls["trace_lines"] = native.trace_lines()
        calls["decision_lines"] = native.decision_lines()
    return (figures, calls)


class _Frozen:
    """Stands for the native object of a result that was pickled."""

    def __init__(self, figures: dict[str, Any], calls: dict[str, Any]) -> None:
        self.__dict__.update(figures)
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_calls" or name not in self._calls:
            raise AttributeError(name)
        value = self._calls[name]
        return lambda *_: value

    def row(self, task: Any) -> Any:
        rows = self._calls["rows"]
        name = task if isinstance(task, str) else getattr(task, "name", task)
        if isinstance(name, int):
            return list(rows.values())[name]
        return rows[name]

    def __len__(self) -> int:
        return len(self._calls["rows"])


def FrozenPlan(request: Document, answer: str, at: int, figures: dict[str, Any], calls: dict[str, Any]) -> Plan:
    """A plan from its pickle."""
    plan = Plan(_Frozen(figures, calls), request, answer, at)
    plan.all = Plans([plan], request, answer)
    return plan


def FrozenRun(request: Document, answer: str, at: int, figures: dict[str, Any], calls: dict[str, Any]) -> Run:
    """A run from its pickle."""
    return Run(_Frozen(figures, calls), request, answer, at)


class Trace:
    """Events of a run in the order of time: tables with `at`, what happened, and what it is about."""

    def __init__(self, lines: list[Document]) -> None:
        self.head = lines[0] if lines and "schema" in lines[0] else {}
        self.events = lines[1:] if self.head else lines

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[Document]:
        return iter(self.events)

    def __getitem__(self, index: int) -> Document:
        return self.events[index]

    def to_pandas(self) -> pandas.DataFrame:
        """The events as a table."""
        return need("pandas", "to_pandas").DataFrame(self.events)

    def __repr__(self) -> str:
        return f"<trace of {len(self)} events>"


class _Several(Sequence[Any]):
    _all: list[Any]

    def __init__(self, all_: list[Any], request: Document, answer: str) -> None:
        self._all = all_
        self.request = request
        self._answer = answer

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self._all[index]

    def to_json(self) -> str:
        """The document that the command prints with `--json`."""
        return self._answer


class Plans(_Several):
    """Plans of several planners."""

    def __init__(self, all_: list[Any], request: Document, answer: str) -> None:
        super().__init__(all_, request, answer)
        for plan in all_:
            plan.all = self

    @property
    def best(self) -> Plan:
        """The shortest plan that keeps the limits, else the one that misses least of them."""
        first: Plan = next((plan for plan in self._all if plan._native.is_best), self._all[0])
        return first

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each plan."""
        rows = [
            {
                "algorithm": plan.algorithm,
                "makespan": plan.makespan,
                "simulated": plan.simulated,
                "cost": plan.cost,
                "feasible": plan.feasible,
            }
            for plan in self._all
        ]
        return need("pandas", "to_pandas").DataFrame(rows)


class Runs(_Several):
    """Runs of several policies under the same conditions."""

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each run."""
        rows = [
            {"policy": run.policy, "finished": run.finished, "makespan": run.makespan, "cost": run.cost, **run.counts}
            for run in self._all
        ]
        return need("pandas", "to_pandas").DataFrame(rows)


__all__ = ["Document", "Placement", "Plan", "Plans", "Run", "Runs", "Trace", "Transfer"]

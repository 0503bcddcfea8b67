"""Methods side by side: rows as in a campaign."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _native
from ._methods import Method, is_planner_name, own
from ._optional import need
from .errors import BadInput

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from ._values import Platform, Scenario, Workflow


class Row(dict[str, Any]):
    """One run of one method; its columns are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Comparison(Sequence[Row]):
    """A row for each run: workflow, platform, scenario, method, repetition and its measures."""

    def __init__(self, columns: Mapping[str, list[Any]]) -> None:
        self.columns = dict(columns)
        names = list(self.columns)
        self.rows = [Row(zip(names, values, strict=True)) for values in zip(*self.columns.values(), strict=True)]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def methods(self) -> list[str]:
        """The methods in the order in which they were given."""
        return list(dict.fromkeys(self.columns["method"]))

    def values(self, metric: str = "makespan") -> dict[str, list[float]]:
        """The values of a measure by method; runs that did not finish have none."""
        if metric not in self.columns:
            raise BadInput(f"there is no measure {metric!r}; there are {', '.join(self.columns)}")
        found: dict[str, list[float]] = {method: [] for method in self.methods}
        for row in self.rows:
            if row["done"] and row[metric] is not None:
                found[row["method"]].append(row[metric])
        return found

    def means(self, metric: str = "makespan") -> dict[str, float]:
        """The mean of a measure by method, over the runs that finished."""
        return {method: sum(v) / len(v) for method, v in self.values(metric).items() if v}

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a table."""
        return need("pandas", "to_pandas").DataFrame(self.columns)

    def boxplot(self, metric: str = "makespan", axes: Axes | None = None) -> Any:
        """Box plots of a measure by method: on axes of matplotlib where they are given, else a picture that shows itself."""
        values = {method: v for method, v in self.values(metric).items() if v}
        if axes is not None:
            axes.boxplot(list(values.values()), tick_labels=list(values))
            axes.set_ylabel(metric)
            return axes
        from ._notebook import Picture

        return Picture(_native.boxes(f"{metric} by method", metric, list(values.items())))

    def _repr_svg_(self) -> str:
        svg: str = self.boxplot().svg
        return svg

    def __repr__(self) -> str:
        return f"<comparison of {', '.join(self.methods)}: {len(self)} runs>"


def _labelled(values: Any, what: str, kind: Any) -> list[tuple[str, Any]]:
    if isinstance(values, kind):
        values = [values]
    items = list(values.items()) if isinstance(values, Mapping) else [(None, value) for value in values]
    labelled: list[tuple[str, Any]] = []
    for given, value in items:
        if not isinstance(value, kind):
            raise BadInput(f"{what}: {value!r} is none")
        label = wanted = str(given or value.name or what)
        number = 1
        while any(label == known for known, _ in labelled):
            number += 1
            label = f"{wanted}#{number}"
        labelled.append((label, value))
    if not labelled:
        raise BadInput(f"{what}: none is given")
    return labelled


def compare(
    workflows: Sequence[Workflow] | Mapping[str, Workflow] | Workflow,
    platforms: Sequence[Platform] | Mapping[str, Platform] | Platform,
    methods: Sequence[Method],
    *,
    scenarios: Sequence[Scenario] | Mapping[str, Scenario] | Scenario = (),
    repeat: int = 1,
    seed: int = 1,
) -> Comparison:
    """Lets every method meet every workflow on every platform, `repeat` times.

    Planners are judged by their plans, policies by simulated runs under each scenario. Repetition r draws scenarios with the
    r-th seed from their own, and gives random methods another seed; where nothing is random its values are those of the
    first. Names may carry parameters as in campaigns (`best?iterations=500`, `slackline:peft`), and name what other modules
    register (`module:name`).
    """
    from ._values import Scenario

    if isinstance(repeat, bool) or not isinstance(repeat, int) or not 1 <= repeat <= 1_000_000:
        raise BadInput(f"repeat is a number of repetitions, not {repeat!r}")
    if isinstance(methods, str) or not isinstance(methods, Sequence):
        methods = [methods]
    if not methods:
        raise BadInput("methods: none is given")
    names, planners, policies = own(methods)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise BadInput(f"two methods are named '{twice}'")
    own_planners = {name for name, _ in planners}
    kinds = ["plan" if name in own_planners or is_planner_name(name) else "simulate" for name in names]
    columns = _native.compare(
        _labelled(workflows, "workflows", _native.Workflow),
        _labelled(platforms, "platforms", _native.Platform),
        _labelled(scenarios, "scenarios", _native.Scenario) if isinstance(scenarios, Scenario) or scenarios else [],
        list(zip(kinds, names, strict=True)),
        (planners, policies),
        repeat,
        seed,
    )
    return Comparison(columns)

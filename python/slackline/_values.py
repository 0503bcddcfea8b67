"""Workflows, platforms and scenarios."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _native, _requests
from ._methods import name_of
from ._native import Host, Task
from ._optional import need
from .errors import BadInput

if TYPE_CHECKING:
    import networkx
    import numpy
    import pandas
    from typing_extensions import TypeAlias

    from ._methods import Method
    from ._requests import Document
    from ._results import Plan, Plans, Run, Runs

Quantity: TypeAlias = "Union[str, float]"
PathLike: TypeAlias = "Union[str, os.PathLike[str]]"


def warn(texts: Iterable[str]) -> None:
    """Passes remarks of the library on."""
    for text in texts:
        warnings.warn(text, stacklevel=4)


class Workflow(_native.Workflow):
    """Tasks, files and dependencies.

    Built with `task`, read with `slackline.read`, generated with `slackline.generate`, or taken from a graph of networkx.
    """

    @classmethod
    def _of(cls, other: _native.Workflow) -> Workflow:
        made = cls(other.name)
        made.assume(other)
        return made

    @classmethod
    def from_networkx(
        cls,
        graph: networkx.DiGraph[Any],
        *,
        work: str = "work",
        data: str = "data",
        name: str | None = None,
        seconds: str | None = None,
    ) -> Workflow:
        """The workflow of a directed graph.

        `work` is the attribute of nodes with their flop (or `seconds` that of their seconds), `data` the attribute of edges
        with their bytes; both may be texts with units. An edge without it is an order without data.
        """
        if not getattr(graph, "is_directed", lambda: False)():
            raise BadInput("a workflow is made of a directed graph, such as networkx.DiGraph")
        if graph.is_multigraph():
            raise BadInput("a workflow has one edge between two tasks: sum parallel edges of the multigraph first")
        made = cls(str(graph.graph.get("name", "") if name is None else name))
        attribute, scale = (seconds, 1e9) if seconds is not None else (work, 1.0)
        where = {node: position for position, node in enumerate(graph)}
        names = [node if isinstance(node, str) else str(node) for node in where]
        amounts = [
            _amount(node, attribute, facts.get(attribute, 0.0), scale) for node, facts in graph.nodes(data=True)
        ]
        sources: list[int] = []
        targets: list[int] = []
        sizes: list[float] = []
        for source, target, facts in graph.edges(data=True):
            sources.append(where[source])
            targets.append(where[target])
            size = facts.get(data)
            sizes.append(-1.0 if size is None else _size(source, target, size))
        made.add_many(names, amounts, sources, targets, sizes)
        made.check()
        return made

    def to_networkx(self) -> networkx.DiGraph[str]:
        """A directed graph: nodes with `work`, `seconds`, `kind`, `cores` and `memory`, edges with `data` in bytes."""
        nx = need("networkx", "to_networkx")
        graph: networkx.DiGraph[str] = nx.DiGraph(name=self.name)
        facts = self.columns()
        names = facts["task"]
        for name, work, seconds, kind, cores, memory in zip(
            names, facts["work"], facts["seconds"], facts["kind"], facts["cores"], facts["memory"], strict=True
        ):
            graph.add_node(name, work=work, seconds=seconds, kind=kind, cores=cores, memory=memory)
        edges = self.edges()
        for source, target, size, control in zip(
            edges["source"], edges["target"], edges["bytes"], edges["control"], strict=True
        ):
            if control:
                graph.add_edge(names[source], names[target])
            else:
                graph.add_edge(names[source], names[target], data=size)
        return graph

    @classmethod
    def from_saga(cls, graph: Any, *, name: str = "", scale: float = 1.0) -> Workflow:
        """The workflow of a `TaskGraph` of SAGA: costs become flop, sizes of dependencies bytes, both times `scale`."""
        made = cls(name or str(getattr(graph, "name", "") or "saga"))
        tasks = sorted(graph.tasks, key=lambda task: str(task.name))
        where = {task.name: position for position, task in enumerate(tasks)}
        edges = sorted(graph.dependencies, key=lambda edge: (str(edge.source), str(edge.target)))
        made.add_many(
            [str(task.name) for task in tasks],
            [float(task.cost) * scale for task in tasks],
            [where[edge.source] for edge in edges],
            [where[edge.target] for edge in edges],
            [float(edge.size) * scale for edge in edges],
        )
        made.check()
        return made

    @classmethod
    def from_wfcommons(cls, workflow: Any) -> Workflow:
        """The workflow of a `Workflow` object of WfCommons."""
        made = cls(str(getattr(workflow, "name", "") or "wfcommons"))
        tasks: Mapping[str, Any] = workflow.tasks
        sizes: dict[str, float] = {}
        for task in tasks.values():
            for file in [*task.input_files, *task.output_files]:
                sizes[str(file.file_id)] = float(file.size or 0)
        for key, task in tasks.items():
            program = getattr(task, "program", None)
            made.task(
                str(key),
                seconds=float(getattr(task, "runtime", 0.0) or 0.0),
                cores=max(1, round(float(getattr(task, "cores", None) or 1))),
                memory=float(getattr(task, "memory", None) or 0.0),
                kind=str(getattr(task, "category", None) or program or ""),
                inputs={str(file.file_id): sizes[str(file.file_id)] for file in task.input_files},
                outputs={str(file.file_id): sizes[str(file.file_id)] for file in task.output_files},
            )
        children = [(parent, child) for child, task in tasks.items() for parent in task.task_parents or ()]
        made.add_many([], [], *_positions(tasks, children), [-1.0] * len(children))
        made.check()
        return made

    @classmethod
    def from_costs(
        cls,
        costs: Any,
        edges: Iterable[Sequence[Any]] = (),
        *,
        hosts: Sequence[str] | None = None,
        tasks: Sequence[str] | None = None,
        name: str = "costs",
    ) -> Workflow:
        """The workflow of a matrix of seconds, tasks by hosts; edges are (source, target, bytes) by position or name.

        `Platform.processors(n)` has the hosts p1, p2, ... that it is planned on where none are named.
        """
        matrix = _matrix(costs)
        made = cls(name)
        rows, columns = len(matrix), len(matrix[0]) if matrix else 0
        names = [str(task) for task in tasks] if tasks is not None else [f"t{n + 1}" for n in range(rows)]
        known = {task: position for position, task in enumerate(names)}
        seconds = [sum(row) / len(row) if row else 0.0 for row in matrix]
        found: list[tuple[Any, Any, Any]] = [(known.get(s, s), known.get(t, t), size) for s, t, size in edges]
        if len(names) != rows:
            raise BadInput(f"{len(names)} names for {rows} rows of costs")
        try:
            made.add_many(
                names,
                [s * 1e9 for s in seconds],
                [int(source) for source, _, _ in found],
                [int(target) for _, target, _ in found],
                [_amount(f"{s} -> {t}", "data", size, 1.0) for s, t, size in found],
            )
        except (TypeError, ValueError, OverflowError) as error:
            if isinstance(error, BadInput):
                raise
            raise BadInput(f"edges are (source, target, bytes): {error}") from error
        made.set_costs(
            [str(host) for host in hosts] if hosts is not None else [f"p{n + 1}" for n in range(columns)],
            [value for row in matrix for value in row],
        )
        made.check()
        return made

    def to_pandas(self) -> pandas.DataFrame:
        """The tasks as a table."""
        return need("pandas", "to_pandas").DataFrame(self.columns())

    def files_to_pandas(self) -> pandas.DataFrame:
        """The files as a table."""
        return need("pandas", "files_to_pandas").DataFrame(self.files())

    def ranks(self, platform: _native.Platform, direction: str = "upward") -> numpy.ndarray[Any, Any]:
        """The rank of every task on a platform, by position: `upward` or `downward`."""
        np = need("numpy", "ranks")
        ranks: numpy.ndarray[Any, Any] = np.asarray(_native.ranks(self, platform, direction), dtype=float)
        return ranks

    def costs(self, platform: _native.Platform) -> numpy.ndarray[Any, Any]:
        """Seconds of every task on every host, tasks by hosts; infinite where a task does not fit."""
        np = need("numpy", "costs")
        flat = np.frombuffer(_native.costs(self, platform), dtype="<f8")
        costs: numpy.ndarray[Any, Any] = flat.reshape(len(self), len(platform)).copy()
        return costs

    def plan(
        self,
        platform: _native.Platform | None = None,
        planner: Method | Sequence[Method] | None = None,
        *,
        budget: float | None = None,
        deadline: Quantity | None = None,
        fastest: bool = False,
        seed: int | None = None,
        iterations: int | None = None,
        time_limit: Quantity | None = None,
        threads: int | None = None,
        parameters: Mapping[str, Any] | None = None,
        robust: float | None = None,
        inputs: str | None = None,
        settings: Mapping[str, Any] | None = None,
        check: bool = True,
        progress: bool = False,
    ) -> Plan:
        """Plans the workflow: with the planner of that name or of Python, else with the usual one within the limits.

        The options are those of `slackline plan`; `plan.request` has all of them with their defaults. Of several planners
        the best plan is returned, and `plan.all` has every one. `progress` shows searches with tqdm.
        """
        return _requests.plan(
            self,
            platform,
            planner,
            limits={"budget": budget, "deadline": deadline, "fastest": fastest or None},
            search={"seed": seed, "iterations": iterations, "time_limit": time_limit, "threads": threads},
            models={"inputs": inputs, "settings": settings},
            parameters=parameters,
            robust=robust,
            check=check,
            progress=progress,
        )

    def plans(
        self, platform: _native.Platform | None = None, planners: Sequence[Method] | str = "all", **options: Any
    ) -> Plans:
        """A plan of each planner, the best first by its makespan as simulated; `all` for every planner that can."""
        chosen = [planners] if isinstance(planners, str) else list(planners)
        return self.plan(platform, chosen, **options).all

    def front(self, platform: _native.Platform, planners: Sequence[Method] = (), **options: Any) -> Document:
        """Time against cost, over planners and budgets: the document of `slackline plan --front`."""
        return _requests.front(self, platform, planners, options)

    def simulate(
        self,
        platform: _native.Platform | None = None,
        policy: Method = "static",
        *,
        scenario: Scenario | PathLike | None = None,
        plan: Plan | None = None,
        planner: Method | None = None,
        budget: float | None = None,
        deadline: Quantity | None = None,
        seed: int | None = None,
        transfers: str | None = None,
        period: Quantity | None = None,
        knows: str | None = None,
        retries: int | None = None,
        monitoring_delay: Quantity | None = None,
        decision_time: Quantity | None = None,
        until: Quantity | None = None,
        data: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        inputs: str | None = None,
        settings: Mapping[str, Any] | None = None,
        trace: bool = True,
        progress: bool = False,
    ) -> Run:
        """Simulates a run under a policy, or one that follows a plan.

        The options are those of `slackline simulate`; `run.request` has all of them with their defaults. With `trace=False`
        neither trace nor decisions are kept. `progress` shows runs of more than two seconds with tqdm.
        """
        runs = _requests.simulate(
            self,
            platform,
            [policy],
            scenario=scenario,
            plan=plan,
            planner=planner,
            limits={"budget": budget, "deadline": deadline},
            models={"inputs": inputs, "settings": settings},
            parameters=parameters,
            trace=trace,
            progress=progress,
            setup={
                "seed": seed,
                "transfers": transfers,
                "period": None if period is None else str(period),
                "knows": knows,
                "retries": retries,
                "monitoring_delay": _seconds(monitoring_delay),
                "decision_time": _seconds(decision_time),
                "until": _seconds(until),
                "data": data,
            },
        )
        run: Run = runs[0]
        return run

    def simulate_all(
        self, platform: _native.Platform | None = None, policies: Sequence[Method] | str = "all", **options: Any
    ) -> Runs:
        """A simulated run of each policy under the same conditions; `all` for every policy that can."""
        setup: dict[str, Any] = {key: options.pop(key) for key in _SETUP if key in options}
        for key in ("monitoring_delay", "decision_time", "until"):
            if key in setup:
                setup[key] = _seconds(setup[key])
        if setup.get("period") is not None:
            setup["period"] = str(setup["period"])
        limits: dict[str, Any] = {key: options.pop(key) for key in ("budget", "deadline") if key in options}
        models: dict[str, Any] = {key: options.pop(key) for key in ("inputs", "settings") if key in options}
        chosen = [policies] if isinstance(policies, str) else list(policies)
        return _requests.simulate(
            self, platform, chosen, limits=limits, models=models, setup=setup, several=True, **options
        )

    def run(
        self,
        platform: _native.Platform | None = None,
        policy: Method = "work-stealing",
        *,
        on: str = "local",
        folder: PathLike | None = None,
        cores: int | None = None,
        planner: Method | None = None,
        dry_run: bool = False,
        budget: float | None = None,
        deadline: Quantity | None = None,
        seed: int | None = None,
        transfers: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        retries: int | None = None,
        time_limit: Quantity | None = None,
        throttle: bool | None = None,
        slurm: Mapping[str, Any] | None = None,
        progress: bool = False,
    ) -> Run:
        """Runs the commands of the tasks: `on="local"` on this machine, `on="slurm"` on a Slurm cluster.

        Inputs of the workflow are taken from the folder of its file, or from the current one; `folder` keeps the run, and
        `slackline.resume` continues with it.
        """
        if on not in ("local", "slurm"):
            raise BadInput(f"a run is on 'local' or on 'slurm', not on {on!r}")
        return _requests.run(
            self,
            platform,
            policy,
            planner=planner,
            limits={"budget": budget, "deadline": deadline},
            parameters=parameters,
            members={
                "cores": cores,
                "seed": seed,
                "transfers": transfers,
                "folder": None if folder is None else os.fspath(folder),
                "dry_run": dry_run or None,
            },
            execution={
                "retries": retries,
                "time_limit": _seconds(time_limit),
                "throttle": throttle,
                "slurm": dict(slurm or {}) if on == "slurm" else None,
            },
            progress=progress,
        )

    def __copy__(self) -> Workflow:
        return type(self)._of(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Workflow:
        return type(self)._of(self)

    def __reduce__(self) -> Any:
        return (_workflow, self.__getstate__())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _native.Workflow):
            return NotImplemented
        return self is other or (len(self) == len(other) and self.__getstate__()[2] == other.__getstate__()[2])

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<workflow {self.name!r}: {len(self)} tasks>"

    def _repr_svg_(self) -> str | None:
        from ._notebook import fitted

        return fitted(self.svg()) if len(self) else None

    def to_svg(self) -> str:
        """The graph of the workflow as SVG."""
        return self.svg()


_SETUP = (
    "seed",
    "transfers",
    "period",
    "threshold",
    "knows",
    "retries",
    "monitoring_delay",
    "decision_time",
    "until",
    "data",
    "storage",
)


def _workflow(name: str, path: str | None, text: str) -> Workflow:
    """A workflow from what its pickle keeps."""
    if not text:
        return Workflow(name)
    format, _, body = text.partition("\n")
    return Workflow._of(_native.workflow_of_text(body, format, name, path))


def _positions(known: Mapping[str, Any], pairs: Iterable[tuple[str, str]]) -> tuple[list[int], list[int]]:
    where = {key: position for position, key in enumerate(known)}
    both = [(where[a], where[b]) for a, b in pairs]
    return [a for a, _ in both], [b for _, b in both]


def _matrix(costs: Any) -> list[list[float]]:
    if hasattr(costs, "to_numpy"):
        costs = costs.to_numpy()
    shape = getattr(costs, "shape", None)
    if shape is not None and len(shape) != 2:
        raise BadInput(f"costs are a matrix of tasks by hosts, not an array of {len(shape)} dimensions")
    try:
        matrix = [[float(value) for value in row] for row in (costs.tolist() if shape is not None else costs)]
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"costs are a matrix of seconds: {error}") from error
    widths = {len(row) for row in matrix}
    if len(widths) > 1:
        raise BadInput(f"the rows of the costs have {min(widths)} to {max(widths)} columns")
    return matrix


def _amount(of: Any, attribute: str, value: Any, scale: float) -> float:
    if isinstance(value, str):
        text = value.strip()
        if attribute in ("seconds", "time"):
            return _requests.seconds(text) * scale
        if text.endswith(("f", "flop")):
            return _native.flop(text) * scale
        return _native.size(text) * scale
    try:
        if isinstance(value, bool):
            raise TypeError("a truth value is no number")
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"{attribute!r} of {of!r} must be a number, not {value!r}") from error
    return number * scale


def _size(source: Any, target: Any, value: Any) -> float:
    size = _amount(f"{source} -> {target}", "data", value, 1.0)
    if not 0.0 <= size < float("inf"):
        raise BadInput(f"the data of {source!r} -> {target!r} must be a finite number that is not negative, not {value!r}")
    return size


def _seconds(value: Quantity | None) -> float | None:
    return None if value is None else _requests.seconds(value)


class Platform(_native.Platform):
    """Hosts and the network between them: `cluster`, `processors`, `from_toml`, or `slackline.read`."""

    @classmethod
    def cluster(
        cls,
        count: int,
        *,
        cores: int = 1,
        speed: Quantity | Sequence[Quantity] = "1Gf",
        link: Quantity = "1Gbps",
        latency: Quantity = "50us",
        memory: Quantity | None = None,
        price: float | None = None,
        name: str = "cluster",
        backbone: Quantity | None = None,
    ) -> Platform:
        """Identical hosts (or of the speeds given) behind one switch, each on a link of its own.

        Bare numbers are flop/s for `speed`, bytes/s for `link` and seconds for `latency`; `price` is per hour and host.
        """
        speeds = list(speed) if isinstance(speed, (list, tuple)) else None
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise BadInput(f"a cluster has a number of hosts, not {count!r}")
        if speeds is not None and len(speeds) != count:
            raise BadInput(f"{len(speeds)} speeds for {count} hosts")
        lines = [f"name = {_text(name)}", "", "[network]"]
        lines += [f"bandwidth = {_unit(link, 'Bps', 'link')}", f"latency = {_unit(latency, 's', 'latency')}"]
        shared = [f"cores = {_whole(cores, 'cores')}"]
        if memory is not None:
            shared.append(f"memory = {_unit(memory, 'B', 'memory')}")
        if price is not None:
            shared.append(f"price-per-hour = {_number(price, 'price')}")
        if speeds is None:
            lines += ["", f"[cluster.{_key(name)}]", f"count = {count}", f"speed = {_unit(speed, 'f', 'speed')}", *shared]
            if backbone is not None:
                lines.append(f"backbone = {_unit(backbone, 'Bps', 'backbone')}")
        else:
            for at, one in enumerate(speeds):
                lines += ["", f"[host.{_key(name)}-{at}]", f"speed = {_unit(one, 'f', 'speed')}", *shared]
        return cls.from_toml("\n".join(lines) + "\n")

    @classmethod
    def processors(cls, count: int, *, bandwidth: Quantity = 1.0, latency: Quantity = 0.0) -> Platform:
        """Abstract processors p1, p2, ... of 1 Gflop/s, fully connected without contention: those of most papers.

        With the default bandwidth of 1 byte/s, data are in seconds.
        """
        rate = _native.rate(bandwidth)
        hosts = [(f"p{n + 1}", 1e9) for n in range(_whole(count, "count"))]
        return cls(_native.matrix_platform("processors", hosts, [], rate, _requests.seconds(latency)))

    @classmethod
    def from_toml(cls, text: str) -> Platform:
        """The platform of a text in the format of platform files."""
        return cls(text)

    @classmethod
    def from_saga(cls, network: Any, *, name: str = "saga") -> Platform:
        """The platform of a `Network` of SAGA: its nodes with their speeds, and its edges as bandwidths."""
        nodes = sorted(network.nodes, key=lambda node: str(node.name))
        speeds = {str(node.name): float(node.speed) for node in nodes}
        between: dict[tuple[str, str], float] = {}
        for edge in network.edges:
            between[str(edge.source), str(edge.target)] = float(edge.speed)
        return cls(_native.matrix_platform(name, list(speeds.items()), [(a, b, s) for (a, b), s in between.items()]))

    @classmethod
    def from_matrix(cls, speeds: Mapping[str, Quantity], bandwidth: Any, *, name: str = "matrix") -> Platform:
        """Single-core hosts with their speeds and a matrix of bytes/s between them, without contention."""
        names = [str(host) for host in speeds]
        rates = _matrix(bandwidth)
        if len(rates) != len(names) or any(len(row) != len(names) for row in rates):
            raise BadInput(f"{len(names)} hosts need a matrix of {len(names)} x {len(names)} bandwidths")
        pairs = [
            (a, b, rates[i][j]) for i, a in enumerate(names) for j, b in enumerate(names) if i != j
        ]
        hosts = [(host, _native.flop(speed) if isinstance(speed, str) else float(speed)) for host, speed in speeds.items()]
        return cls(_native.matrix_platform(name, hosts, pairs))

    def to_pandas(self) -> pandas.DataFrame:
        """The hosts as a table."""
        return need("pandas", "to_pandas").DataFrame(self.columns())

    def __getitem__(self, host: Host | str | int) -> Host:
        return self.host(host)

    def __reduce__(self) -> Any:
        return (Platform, (self.to_toml(), self.source))

    def __copy__(self) -> Platform:
        return Platform(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Platform:
        return Platform(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _native.Platform):
            return NotImplemented
        return self is other or self.to_toml() == other.to_toml()

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<platform {self.name!r}: {len(self)} hosts, {self.processors_count} processors>"

    @property
    def processors_count(self) -> int:
        """Cores of all hosts."""
        return self.cores_of_all

    def _repr_html_(self) -> str:
        from ._notebook import table

        facts = self.columns()
        classes: dict[tuple[Any, ...], int] = {}
        for row in zip(facts["class"], facts["cores"], facts["speed"], facts["memory"], facts["price"], strict=True):
            classes[row] = classes.get(row, 0) + 1
        rows = [
            [kind, number, cores, f"{speed / 1e9:g} Gflop/s", "" if memory is None else f"{memory / 1e9:g} GB", price or ""]
            for (kind, cores, speed, memory, price), number in classes.items()
        ]
        return table(repr(self)[1:-1], ["class", "hosts", "cores", "speed of a core", "memory", "price"], rows)


def _text(value: str) -> str:
    import json

    return json.dumps(str(value), ensure_ascii=False)


def _key(value: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", str(value)) or "hosts"


def _number(value: Any, what: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)) and not hasattr(value, "__float__"):
        raise BadInput(f"{what} must be a number, not {value!r}")
    number = float(value)
    if not 0.0 <= number < float("inf"):
        raise BadInput(f"{what} must be a finite number that is not negative, not {number}")
    return repr(number)


def _whole(value: Any, what: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise BadInput(f"{what} must be a whole number, not {value!r}")
    number = value.__index__()
    if not 0 < number < 2**32:
        raise BadInput(f"{what} must be a number from 1 to {2**32 - 1}, not {number}")
    return int(number)


def _plain(value: Quantity, unit: str, what: str) -> str:
    return value if isinstance(value, str) else _number(value, what) + unit


def _unit(value: Any, unit: str, what: str) -> str:
    return _text(_plain(value, unit, what))


class Scenario(_native.Scenario):
    """How a platform changes, and how wrong estimates are: read, or drawn by `slackline.generate`."""

    @classmethod
    def from_text(cls, text: str) -> Scenario:
        """The scenario of a text in TOML or JSON."""
        return cls(text)

    def on(self, platform: _native.Platform) -> Scenario:
        """The scenario as it is drawn for a platform."""
        return _scenario_of(self.resolved(platform))

    def __reduce__(self) -> Any:
        return (_scenario, self.parts())

    def __copy__(self) -> Scenario:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Scenario:
        return self

    def __repr__(self) -> str:
        return f"<scenario {self.name!r}>"


def _scenario_of(native: _native.Scenario) -> Scenario:
    return _scenario(*native.parts())


def _scenario(text: str | None, name: str, given: list[tuple[str, str]], seed: int) -> Scenario:
    if text is not None:
        return Scenario(text)
    return Scenario("", drawn=(name, given, seed))


def wrap(native: Any) -> Any:
    """The object of this package around one of the native module."""
    if isinstance(native, _native.Workflow):
        return Workflow._of(native)
    if isinstance(native, _native.Platform):
        return Platform(native, native.source)
    if isinstance(native, _native.Scenario):
        text, name, given, seed = native.parts()
        return Scenario(text or "", native.source) if text is not None else _scenario(None, name, given, seed)
    return native


def read(path: PathLike, *, format: str | None = None, kind: str | None = None) -> Any:
    """Reads a workflow, a platform or a scenario from a file, or by the name of a bundled one.

    What a file holds is recognised; `kind` (`workflow`, `platform`, `scenario`) and `format` say so where it is not. A folder
    is the record of a run of another engine: its workflow is returned, `import_run` has the platform, too.
    """
    place = os.fspath(path)
    if os.path.isdir(place) and kind in (None, "workflow"):
        return import_run(place)[0]
    native, remarks = _native.read(place, format, kind)
    warn(remarks)
    return wrap(native)


def import_run(*paths: PathLike) -> tuple[Workflow, Platform]:
    """Workflow and platform of a recorded run of another engine (Nextflow, Snakemake, Makeflow, Parsl, ...)."""
    native, platform, remarks = _native.import_run([os.fspath(path) for path in paths])
    warn(remarks)
    return Workflow._of(native), Platform(platform)


def resume(
    folder: PathLike,
    policy: Method | None = None,
    *,
    planner: Method | None = None,
    force: bool = False,
    progress: bool = False,
) -> Run:
    """Continues with a run on real machines that was interrupted, from its folder.

    A policy or planner of Python that the run was begun with is given again. What is done is not done again. `force` continues from
    the last whole record of a log that is damaged in the middle.
    """
    return _requests.resume(os.fspath(folder), policy, planner, force=force, progress=progress)


__all__ = ["Platform", "Scenario", "Task", "Workflow", "import_run", "name_of", "read", "resume", "wrap"]

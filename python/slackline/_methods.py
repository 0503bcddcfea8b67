"""Planners and policies by name: those of the registries, and those that Python adds."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from . import _native
from ._native import Partial, Problem
from ._policy import Policy, is_policy
from .errors import BadInput

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

Fill: TypeAlias = "Callable[[Problem, Partial], object]"
Method: TypeAlias = "str | Planner | Policy | type[Policy]"
P = TypeVar("P", bound="type[Policy]")


@dataclass(frozen=True)
class ParameterInfo:
    """A parameter of a method."""

    name: str
    default: str
    range: str
    about: str


@dataclass(frozen=True)
class MethodInfo:
    """A planner or a policy: its name, what it needs, and what may be set."""

    name: str
    about: str
    source: str
    family: str
    needs: tuple[str, ...]
    parameters: tuple[ParameterInfo, ...]


class Planner:
    """A function that fills a partial schedule, with the name under which it is found."""

    def __init__(self, name: str, fill: Fill) -> None:
        if not name or not isinstance(name, str):
            raise BadInput(f"a planner needs a name, not {name!r}")
        if not callable(fill):
            raise BadInput(f"a planner is a function of a problem and a partial schedule, not {fill!r}")
        self.name = name
        self.fill = fill
        functools.update_wrapper(self, fill)

    def __call__(self, problem: Problem, partial: Partial) -> object:
        return self.fill(problem, partial)

    @property
    def about(self) -> str:
        """The first line of the function's documentation."""
        return (self.fill.__doc__ or "").strip().partition("\n")[0]

    def __repr__(self) -> str:
        return f"<planner {self.name!r}>"

    def __reduce__(self) -> Any:
        module = getattr(self, "__module__", None)
        name = getattr(self, "__qualname__", None)
        if module and name and "<locals>" not in name:
            return (_found, (module, name))
        return (Planner, (self.name, self.fill))


def _found(module: str, name: str) -> Any:
    """The planner of a module, for pickles: its function is the planner itself."""
    import importlib

    value: Any = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value


_added: dict[str, tuple[str, Planner | type[Policy]]] = {}


def planner(name: str) -> Callable[[Fill], Planner]:
    """Registers a planner under a name, and under `module:name`, for comparisons and campaigns."""

    def register(fill: Fill) -> Planner:
        made = Planner(name, fill)
        for known in (name, f"{fill.__module__}:{name}"):
            _native.add_planner(known, made.about, made)
        _added[name] = ("planner", made)
        return made

    return register


def policy(name: str) -> Callable[[P], P]:
    """Registers a class of policies under a name, and under `module:name`; each run has an object of its own."""

    def register(made: P) -> P:
        made.name = name
        about = (made.__doc__ or "").strip().partition("\n")[0]
        for known in (name, f"{made.__module__}:{name}"):
            _native.add_policy(known, about, made)
        _added[name] = ("policy", made)
        return made

    return register


def name_of(method: Any) -> str:
    """The name of a method in requests and reports."""
    if isinstance(method, str):
        return method
    if isinstance(method, Planner):
        return method.name
    if is_policy(method):
        kind = method if isinstance(method, type) else type(method)
        return getattr(method, "name", "") or kind.__name__
    raise BadInput(f"a method is a name, a planner or a policy, not {method!r}")


def own(methods: Iterable[Any]) -> tuple[list[str], list[tuple[str, Any]], list[tuple[str, Any]]]:
    """Names of methods, and those of Python among them: planners and policies by name."""
    names: list[str] = []
    planners_: list[tuple[str, Any]] = []
    policies_: list[tuple[str, Any]] = []
    for method in methods:
        name = name_of(method)
        names.append(name)
        found = planners_ if isinstance(method, Planner) else policies_
        if not isinstance(method, str):
            if any(known == name and other is not method for known, other in found):
                raise BadInput(f"two methods are named '{name}'")
            found.append((name, method))
        elif ":" in name and name.split(":")[0].isidentifier():
            _import(name)
    return names, planners_, policies_


def _import(name: str) -> None:
    """Imports the module of `module:name`, so that what it registers is found."""
    import importlib

    module = name.rpartition(":")[0]
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0] and error.name != module:
            raise


@functools.cache
def _registries() -> tuple[tuple[MethodInfo, ...], tuple[MethodInfo, ...]]:
    code, out, err = _native.captured(["slackline", "algorithms", "--json"])
    if code:
        raise BadInput(err)
    known = json.loads(out)

    def info(entry: dict[str, Any]) -> MethodInfo:
        parameters = tuple(
            ParameterInfo(p["name"], p["default"], p["range"], p["about"]) for p in entry["parameters"]
        )
        return MethodInfo(
            entry["name"],
            entry["about"],
            entry["source"],
            entry.get("family", "policy"),
            tuple(entry["needs"]),
            parameters,
        )

    return tuple(map(info, known["algorithms"])), tuple(map(info, known["policies"]))


def _with_added(kind: str, known: Sequence[MethodInfo]) -> list[MethodInfo]:
    def info(name: str, method: Any) -> MethodInfo:
        about = (method.fill.__doc__ if isinstance(method, Planner) else method.__doc__) or ""
        about = about.strip().partition("\n")[0]
        return MethodInfo(name, about, "added by the program", "added", (), ())

    return [*known, *(info(name, made) for name, (of, made) in _added.items() if of == kind)]


def planners() -> list[MethodInfo]:
    """All planners: names, needs and parameters."""
    return _with_added("planner", _registries()[0])


def policies() -> list[MethodInfo]:
    """All policies: names, needs and parameters."""
    return _with_added("policy", _registries()[1])


def is_planner_name(name: str) -> bool:
    """Whether a name is that of a planner, parameters of a campaign aside."""
    plain = name.partition("?")[0]
    letters = str.maketrans("", "", "-._")
    folded = plain.translate(letters).lower()
    own_ = [known for known, (of, _) in _added.items() if of == "planner"]
    if plain in own_ or plain.rpartition(":")[2] in own_ and ":" in plain:
        return True
    return any(info.name.translate(letters).lower() == folded for info in _registries()[0]) or _is_alias(plain)


@functools.cache
def _aliases() -> frozenset[str]:
    known = json.loads(_native.captured(["slackline", "algorithms", "--json"])[1])
    return frozenset(alias["name"] for entry in known["algorithms"] for alias in entry["aliases"])


def _is_alias(name: str) -> bool:
    return name in _aliases()

"""Workflows, platforms and scenarios of published studies, from a seed.

Every generator of `slackline generate` is a function here: `daggen(100, seed=1)`, `montage(tasks=50)`, `grid5000()`,
`sce(50, seed=7)`. Parameters are given in their order or by name (`-` is `_`); `generators()` lists them with their
defaults. Where a name generates things of several families, `workflow`, `platform` and `scenario` have the family.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from . import _native
from ._values import Platform, Scenario, Workflow, _scenario, wrap
from .errors import BadInput

FAMILIES = ("workflow", "platform", "scenario")


@cache
def _known(family: str) -> dict[str, tuple[str, list[tuple[str, str, str]]]]:
    return {name: (about, parameters) for name, about, parameters in _native.generators(family)}


def generators() -> dict[str, dict[str, str]]:
    """Names of generators and what they make, by family."""
    return {family: {name: about for name, (about, _) in _known(family).items()} for family in FAMILIES}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value.item() if hasattr(value, "item") else value)


def _given(family: str, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> list[tuple[str, str]]:
    parameters = [parameter for parameter, _, _ in _known(family)[name][1]]
    if len(args) > len(parameters):
        raise BadInput(f"{name} has {len(parameters)} parameters, not {len(args)}")
    given = list(zip(parameters, map(_text, args), strict=False))
    for option, value in options.items():
        parameter = option.rstrip("_").replace("_", "-")
        if parameter not in parameters:
            raise BadInput(f"{name} has no parameter {option!r}; it has {', '.join(parameters)}")
        if any(parameter == known for known, _ in given):
            raise BadInput(f"{name}: {option!r} is given twice")
        given.append((parameter, _text(value)))
    return given


def _make(family: str, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    known = _known(family)
    name = name.replace("_", "-")
    if name not in known:
        raise BadInput(f"no {family} generator is named {name!r}; there are {', '.join(known)}")
    seed = options.pop("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise BadInput(f"a seed is a whole number from 0, not {seed!r}")
    if family == "scenario":
        on = options.pop("platform", None)
        given = _given(family, name, args, options)
        drawn = _scenario(None, name, given, seed)
        return drawn if on is None else drawn.on(on)
    return wrap(_native.generate(family, name, _given(family, name, args, options), seed))


def workflow(name: str, *args: Any, **options: Any) -> Workflow:
    """A workflow of the generator of that name."""
    made: Workflow = _make("workflow", name, args, options)
    return made


def platform(name: str, *args: Any, **options: Any) -> Platform:
    """A platform of the generator of that name."""
    made: Platform = _make("platform", name, args, options)
    return made


def scenario(name: str, *args: Any, **options: Any) -> Scenario:
    """A scenario of the generator of that name; it is drawn for the platform it is used on, or given as `platform`."""
    made: Scenario = _make("scenario", name, args, options)
    return made


def __getattr__(name: str) -> Callable[..., Any]:
    plain = name.replace("_", "-")
    for family in FAMILIES:
        if not name.startswith("__") and plain in _known(family):
            return _function(family, plain)
    raise AttributeError(f"no generator is named {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *(name.replace("-", "_") for family in FAMILIES for name in _known(family))})


@cache
def _function(family: str, name: str) -> Callable[..., Any]:
    about, parameters = _known(family)[name]

    def make(*args: Any, **options: Any) -> Any:
        return _make(family, name, args, options)

    make.__name__ = make.__qualname__ = name.replace("-", "_")
    lines = "\n".join(f"    {parameter}={default}: {text}" for parameter, default, text in parameters)
    make.__doc__ = f"{about}\n\nParameters, beside `seed`:\n{lines}\n"
    return make

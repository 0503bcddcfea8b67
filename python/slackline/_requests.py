"""Requests: the documents that everything depends on, with values in the place of files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from . import _native
from ._command import set_command_path
from ._methods import own
from .errors import BadInput, Refused

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from ._results import Plan, Run, Runs

Document = dict[str, Any]
Reply: TypeAlias = "tuple[list[Any], str, str, list[str], list[str], bool]"


def seconds(value: Any) -> float:
    """Seconds of a number, or of a text with its unit."""
    return _native.seconds(value)


class Values:
    """Objects that stand for files in a request, by names that are unique in it."""

    def __init__(self) -> None:
        self.named: list[tuple[str, Any]] = []

    def add(self, value: Any, kind: str) -> str:
        """The name of a value: its file, where it is still the same, else its own name."""
        if isinstance(value, tuple):
            source, label = value[0].source, value[0].name
        else:
            source, label = getattr(value, "source", None), getattr(value, "name", "")
        taken = {name for name, _ in self.named}
        name = wanted = source or label or kind
        number = 1
        while name in taken:
            number += 1
            name = f"{wanted}#{number}"
        self.named.append((name, value))
        return name


def without_none(table: Mapping[str, Any]) -> Document:
    """The members that are given."""
    return {key: value for key, value in table.items() if value is not None}


def pairs(table: Mapping[str, Any] | None) -> dict[str, str] | None:
    """Parameters by name and text, as requests have them."""
    if not table:
        return None
    if not isinstance(table, Mapping):
        raise BadInput(f"parameters are a table of names and values, not {table!r}")

    def text(value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        return value if isinstance(value, str) else repr(value)

    return {str(key).replace("_", "-"): text(value) for key, value in table.items()}


def limits_of(limits: Mapping[str, Any]) -> Document | None:
    """Limits in the base units."""
    found = without_none(limits)
    if "deadline" in found:
        found["deadline"] = seconds(found["deadline"])
    return found or None


def models_of(models: Mapping[str, Any]) -> Document | None:
    """Rules of the simulation."""
    found = without_none(models)
    if "settings" in found:
        settings = found.pop("settings")
        found["settings"] = {str(k): v if isinstance(v, str) else str(v) for k, v in settings.items()}
    return found or None


def sources(values: Values, workflows: Iterable[Any], platform: Any) -> Document:
    """The part of a request that names workflows and platform."""
    named: list[str] = []
    for workflow in workflows:
        # A file that brings its processors along is read as one.
        brings = platform is None and workflow.source and _native.platform_of(workflow.source) is not None
        named.append(workflow.source if brings else values.add(workflow, "workflow"))
    input: Document = {"workflows": named}
    if platform is not None:
        if not isinstance(platform, _native.Platform):
            raise BadInput(f"a platform is a slackline.Platform, not {type(platform).__name__}")
        input["platform"] = values.add(platform, "platform")
    return input


def carry_out(
    document: Document,
    values: Values,
    planners: Sequence[tuple[str, Any]] = (),
    policies: Sequence[tuple[str, Any]] = (),
    trace: bool = True,
    progress: bool = False,
) -> tuple[list[Any], Document, str]:
    """Carries a request out: objects, the request with its defaults, and the document of the answer."""
    try:
        text = json.dumps(document, allow_nan=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"the request: {error}") from error
    with_bars = _bars(progress)
    with with_bars as bars:
        reply = _native.carry_out(text, values.named, list(planners), list(policies), trace, bars)
    return _replied(reply)


def _bars(progress: bool) -> AbstractContextManager[Any]:
    """What shows progress, if it is wanted."""
    if not progress:
        return nullcontext()
    from ._progress import Bars

    return Bars()


def _replied(reply: Reply) -> tuple[list[Any], Document, str]:
    from ._values import warn

    objects, request, answer, remarks, _notes, _interrupted = reply
    warn(remarks)
    return objects, json.loads(request), answer


def _chosen(methods: Any) -> list[Any]:
    if methods is None:
        return []
    if isinstance(methods, (list, tuple)):
        return list(methods)
    return [methods]


def plan_request(
    workflow: Any,
    platform: Any,
    planner: Any,
    *,
    limits: Mapping[str, Any],
    search: Mapping[str, Any],
    models: Mapping[str, Any],
    parameters: Mapping[str, Any] | None,
    **members: Any,
) -> tuple[Document, Values, list[tuple[str, Any]]]:
    """A request for plans, with what it names."""
    values = Values()
    names, planners, policies = own(_chosen(planner))
    if policies:
        raise BadInput(f"'{policies[0][0]}' is a policy: it steers runs, and makes no plan")
    searched = without_none(search)
    if "time_limit" in searched:
        searched["time_limit"] = seconds(searched["time_limit"])
    document = without_none(
        {
            "schema": "slackline/plan-request/1",
            "input": sources(values, [workflow], platform),
            "planners": names or None,
            "parameters": pairs(parameters),
            "limits": limits_of(limits),
            "search": searched or None,
            "models": models_of(models),
            **members,
        }
    )
    return document, values, planners


def plan(workflow: Any, platform: Any, planner: Any, *, progress: bool = False, **options: Any) -> Plan:
    """Plans; of several planners the best plan."""
    from ._results import Plan, Plans

    document, values, planners = plan_request(workflow, platform, planner, **options)
    objects, request, answer = carry_out(document, values, planners, progress=progress)
    if not objects:
        method = json.loads(answer)["algorithm"]
        raise Refused(f"{method} plans sub-workflows, which only runs put together: command('plan', ...) has what it allocates")
    plans = Plans([Plan._of(made, request, answer, at) for at, made in enumerate(objects)], request, answer)
    return plans.best


def front(workflow: Any, platform: Any, planners: Any, options: Mapping[str, Any]) -> Document:
    """Time against cost."""
    limits = {key: options[key] for key in ("budget", "deadline") if key in options}
    search = {key: options[key] for key in ("seed", "iterations", "time_limit", "threads") if key in options}
    unknown = set(options) - set(limits) - set(search)
    if unknown:
        raise BadInput(f"front has no option {sorted(unknown)[0]!r}")
    document, values, own_ = plan_request(
        workflow, platform, list(planners), limits=limits, search=search, models={}, parameters=None, front=True
    )
    answer: Document = json.loads(carry_out(document, values, own_)[2])
    return answer


def simulate(
    workflow: Any,
    platform: Any,
    policies: Sequence[Any],
    *,
    scenario: Any = None,
    plan: Any = None,
    planner: Any = None,
    limits: Mapping[str, Any],
    models: Mapping[str, Any],
    setup: Mapping[str, Any],
    parameters: Mapping[str, Any] | None = None,
    trace: bool = True,
    progress: bool = False,
    several: bool = False,
) -> Runs:
    """Simulated runs."""
    from ._results import Run, Runs
    from ._values import Scenario

    values = Values()
    names, wrong, policies_ = own(policies)
    if wrong:
        raise BadInput(f"'{wrong[0][0]}' is a planner: name it as planner=..., with a policy that follows plans")
    planner_names, planners, _ = own([] if planner is None else [planner])
    conditions = without_none(setup)
    if "retries" in conditions and not isinstance(conditions["retries"], int):
        raise BadInput(f"retries must be a whole number, not {conditions['retries']!r}")
    if scenario is not None:
        if isinstance(scenario, (str, os.PathLike)):
            conditions["scenario"] = os.fspath(scenario)
        elif isinstance(scenario, Scenario):
            where = platform if platform is not None else _usual_platform(workflow)
            conditions["scenario"] = values.add((scenario, where), "scenario")
        else:
            raise BadInput(f"a scenario is a slackline.Scenario or a file, not {type(scenario).__name__}")
    if plan is not None:
        if not isinstance(getattr(plan, "_native", None), _native.Plan):
            raise Refused("a plan is followed by the process that made it: plan again, or save its schedule_json()")
        conditions["schedule"] = values.add(plan._native, "plan")
    if planner_names:
        conditions["planner"] = planner_names[0]
    conditions["input"] = sources(values, [workflow], platform)
    conditions.update(
        without_none({"parameters": pairs(parameters), "limits": limits_of(limits), "models": models_of(models)})
    )
    document: Document
    if several:
        document = {"schema": "slackline/compare-request/1", "policies": names, "setup": conditions}
    else:
        document = {"schema": "slackline/simulate-request/1", "policy": names[0], "setup": conditions}
    objects, request, answer = carry_out(document, values, planners, policies_, trace, progress)
    return Runs([Run._of(made, request, answer, at) for at, made in enumerate(objects)], request, answer)


def _usual_platform(workflow: Any) -> Any:
    """The platform that is taken where none is named."""
    source = getattr(workflow, "source", None)
    brought = _native.platform_of(source) if source else None
    return brought if brought is not None else _native.read("small-cluster", None, "platform")[0]


def run(
    workflow: Any,
    platform: Any,
    policy: Any,
    *,
    planner: Any,
    limits: Mapping[str, Any],
    parameters: Mapping[str, Any] | None,
    members: Mapping[str, Any],
    execution: Mapping[str, Any],
    progress: bool,
) -> Run:
    """A run on real machines, or its rehearsal."""
    from ._results import Run

    values = Values()
    names, wrong, policies = own([policy])
    if wrong:
        raise BadInput(f"'{wrong[0][0]}' is a planner: name it as planner=..., with a policy that follows plans")
    planner_names, planners, _ = own([] if planner is None else [planner])
    document = without_none(
        {
            "schema": "slackline/run-request/1",
            "input": sources(values, [workflow], platform),
            "policy": names[0],
            "planner": planner_names[0] if planner_names else None,
            "parameters": pairs(parameters),
            "limits": limits_of(limits),
            "execution": without_none(execution) or None,
            **members,
        }
    )
    set_command_path()
    objects, request, answer = carry_out(document, values, planners, policies, progress=progress)
    made: Run = Run._of(objects[0], request, answer, 0)
    return made


def resume(folder: str, policy: Any, planner: Any, *, force: bool, progress: bool) -> Run:
    """Continues with a run from its folder."""
    from ._results import Run

    _, wrong, policies = own([] if policy is None else [policy])
    if wrong:
        raise BadInput(f"'{wrong[0][0]}' is a planner, not a policy")
    _, planners, _ = own([] if planner is None else [planner])
    set_command_path()
    with _bars(progress) as bars:
        reply = _native.resume(folder, planners, policies, force, bars)
    objects, request, answer = _replied(reply)
    made: Run = Run._of(objects[0], request, answer, 0)
    return made

"""Plan, simulate and run workflows on machines that change.

>>> import slackline as sl
>>> wf = sl.Workflow("demo")
>>> a = wf.task("a", seconds=3, outputs={"x": "10MB"})
>>> b = wf.task("b", work="20Gf", inputs=["x"], cores=2, memory="4GB")
>>> pf = sl.Platform.cluster(8, cores=4, speed="2Gf", link="1Gbps", latency="50us")
>>> round(wf.plan(pf, "heft").makespan, 3)
11.5
"""

from __future__ import annotations

import typing as _typing

from . import errors, generate
from ._command import command
from ._compare import Comparison, campaign, compare
from ._methods import MethodInfo, ParameterInfo, Planner, planner, planners, policies, policy
from ._native import Event, Host, Offer, Partial, Priority, Problem, Situation, Start, Task, __version__
from ._policy import (
    Abandon,
    Adopt,
    Cancel,
    Copy,
    Drop,
    GiveUp,
    Lease,
    Policy,
    Release,
    Restore,
    Rewind,
    WakeAt,
)
from ._results import Document, Placement, Plan, Plans, Run, Runs, Trace
from ._values import Platform, Scenario, Workflow, import_run, read, resume
from .errors import BadInput, BrokenRule, Error, Infeasible, Refused

if _typing.TYPE_CHECKING:
    from . import gym as gym

__all__ = [
    "Abandon",
    "Adopt",
    "BadInput",
    "BrokenRule",
    "Cancel",
    "Comparison",
    "Copy",
    "Document",
    "Drop",
    "Error",
    "Event",
    "GiveUp",
    "Host",
    "Infeasible",
    "Lease",
    "MethodInfo",
    "Offer",
    "ParameterInfo",
    "Partial",
    "Placement",
    "Plan",
    "Planner",
    "Plans",
    "Platform",
    "Policy",
    "Priority",
    "Problem",
    "Refused",
    "Release",
    "Restore",
    "Rewind",
    "Run",
    "Runs",
    "Scenario",
    "Situation",
    "Start",
    "Task",
    "Trace",
    "WakeAt",
    "Workflow",
    "__version__",
    "campaign",
    "command",
    "compare",
    "errors",
    "generate",
    "gym",
    "import_run",
    "planner",
    "planners",
    "policies",
    "policy",
    "read",
    "resume",
]


def __getattr__(name: str) -> _typing.Any:
    # The environment needs gymnasium and numpy, which most never use.
    if name == "gym":
        import importlib

        return importlib.import_module(".gym", __name__)
    raise AttributeError(f"module 'slackline' has no attribute {name!r}")

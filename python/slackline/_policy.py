"""Policies: events in, decisions out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Union

from . import _native
from ._native import Adoptable, Choice, Event, Host, Situation, Start, Task

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

TaskLike: TypeAlias = "Task | str | int"
HostLike: TypeAlias = "Host | str | int"
Decision: TypeAlias = "Union[Start, Choice]"


class Policy:
    """A method that steers a run. Subclasses define `react`.

    `now` is the situation at the call: it takes account of what the call has yielded so far, and can be used until `react`
    returns. A decision that breaks a rule raises `BrokenRule`, unless the class says `strict = False`: then the next call has
    an event of kind `rejected`.
    """

    #: The name in reports and comparisons; that of the class where it is empty.
    name: ClassVar[str] = ""
    #: Whether a decision that is refused raises.
    strict: ClassVar[bool] = True
    #: Whether only events call that can make a task ready or a processor idle.
    dispatches: ClassVar[bool] = False
    #: Whether the progress of tasks and transfers is measured before each call; without it `now.seconds` goes by what was last known.
    progress: ClassVar[bool] = True
    #: Whether changes of the platform are seen when the policy wakes up alone.
    looks: ClassVar[bool] = False

    def react(self, events: list[Event], now: Situation) -> Iterable[Decision] | None:
        """Decides, given all that happened at this instant."""
        raise NotImplementedError(f"{type(self).__name__} defines no react")


class Cancel(Choice):
    """Stops a placed or running task; it waits again."""

    def __new__(cls, task: TaskLike) -> Cancel:
        return super().__new__(cls, "Cancel", task)


class Rewind(Choice):
    """Finished tasks have to be done again: their results are gone (`now.lost`) or not worth fetching."""

    def __new__(cls, tasks: Iterable[TaskLike] | TaskLike) -> Rewind:
        return super().__new__(cls, "Rewind", tasks)


class Restore(Choice):
    """Takes the earlier results of rewound tasks, which are there again."""

    def __new__(cls, tasks: Iterable[TaskLike] | TaskLike) -> Restore:
        return super().__new__(cls, "Restore", tasks)


class Adopt(Choice):
    """Follows a plan of `now.plan(...)` for the rest of the run."""

    def __new__(cls, plan: Adoptable) -> Adopt:
        return super().__new__(cls, "Adopt", plan)


class WakeAt(Choice):
    """Calls the policy again at this date, in seconds."""

    def __new__(cls, date: float) -> WakeAt:
        return super().__new__(cls, "WakeAt", date)


class Copy(Choice):
    """Brings a file to a host."""

    def __new__(cls, file: str, to: HostLike, source: HostLike | None = None) -> Copy:
        return super().__new__(cls, "Copy", file, (to, source))


class Drop(Choice):
    """Deletes the copy of a file on a host."""

    def __new__(cls, file: str, host: HostLike) -> Drop:
        return super().__new__(cls, "Drop", file, host)


class Lease(Choice):
    """Rents a machine of a class that exists only while leased."""

    def __new__(cls, machine_class: str) -> Lease:
        return super().__new__(cls, "Lease", machine_class)


class Release(Choice):
    """Gives a rented machine back."""

    def __new__(cls, host: HostLike) -> Release:
        return super().__new__(cls, "Release", host)


class Abandon(Choice):
    """Gives one of several workflows up."""

    def __new__(cls, workflow: int, why: str = "") -> Abandon:
        return super().__new__(cls, "Abandon", workflow, why)


class GiveUp(Choice):
    """There is no way to finish."""

    def __new__(cls, why: str) -> GiveUp:
        return super().__new__(cls, "GiveUp", why)


def is_policy(value: Any) -> bool:
    """Whether a value is a policy of Python: a class or an object with `react`."""
    return callable(getattr(value, "react", None)) and not isinstance(value, _native.Situation)

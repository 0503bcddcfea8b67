"""The errors of the package."""

from __future__ import annotations

__all__ = ["BadInput", "BrokenRule", "Error", "Infeasible", "Refused"]


class Error(Exception):
    """Anything that Slackline reports; `help` says what to try, where that is known."""

    def __init__(
        self,
        message: str,
        help: str | None = None,
        file: str | None = None,
        place: str | None = None,
    ) -> None:
        super().__init__(message, help, file, place)
        self.message = message
        self.help = help
        self.file = file
        self.place = place

    def __str__(self) -> str:
        return f"{self.message} ({self.help})" if self.help else self.message


class BadInput(Error, ValueError):
    """What was given is wrong. `file` and `place` (line:column) say where, for what was read from a file."""


class Infeasible(Error):
    """The work itself cannot be done: no plan meets the limits, no host fits a task."""


class BrokenRule(Error):
    """A plan or a decision breaks the rule that the message names."""


class Refused(Error):
    """Something that is not possible now, such as the use of a situation after its call."""

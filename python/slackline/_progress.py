"""Progress of long work, as tqdm shows it."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ._optional import need


class Bars:
    """A bar of tqdm for each piece of work in turn."""

    def __init__(self) -> None:
        self._tqdm: Any = need("tqdm.auto", "progress").tqdm
        self._bar: Any = None
        self._what = ""

    def show(self, what: str, done: float, total: int | None, best: float | None) -> None:
        """Shows how many tasks of all are done; where no total is known, how long a search has taken and its best makespan."""
        if self._bar is None or self._what != what or self._bar.total != total:
            self._close()
            line = None if total is not None else "{desc}: {elapsed}{postfix}"
            self._bar = self._tqdm(total=total, desc=what, unit="task", bar_format=line)
            self._what = what
        if total is not None:
            self._bar.n = int(done)
        if best is not None:
            self._bar.set_postfix_str(f"best {best:g} s", refresh=False)
        self._bar.refresh()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __enter__(self) -> Bars:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None and kind is None and self._bar.total is not None:
            self._bar.n = self._bar.total
            self._bar.refresh()
        self._close()

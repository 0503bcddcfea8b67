"""What notebooks show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


class Picture:
    """A picture that shows itself in a notebook; `svg` is its text."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str) -> None:
        """Writes the picture as an SVG file."""
        with open(path, "w", encoding="utf-8") as out:
            out.write(self.svg)

    def __repr__(self) -> str:
        return f"<picture: {len(self.svg)} bytes of SVG>"


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table in the colours of the page."""
    cells = "".join(f"<th style='text-align:left'>{escape(str(cell))}</th>" for cell in head)
    lines = [
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    ]
    return f"<table><caption>{escape(title)}</caption><thead><tr>{cells}</tr></thead><tbody>{''.join(lines)}</tbody></table>"

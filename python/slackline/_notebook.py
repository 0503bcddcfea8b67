"""What notebooks show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def fitted(svg: str) -> str:
    """A picture that is as wide as its column, and no wider than it was drawn."""
    head, _, rest = svg.partition(">")
    # Where a page shows it as an image, only a picture without a width of its own fits into the column.
    width = re.search(r' width="([0-9.]+)"', head)
    if width is None or "viewBox" not in head:
        return svg
    plain = re.sub(r' (width|height)="[0-9.]+"', "", head)
    return plain.replace("<svg ", f'<svg style="width:100%;max-width:{width[1]}px;height:auto" ', 1) + ">" + rest


class Picture:
    """A picture that shows itself in a notebook; `svg` is its text."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return fitted(self.svg)

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

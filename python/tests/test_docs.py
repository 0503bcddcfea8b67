"""The examples of the documentation run."""

from __future__ import annotations

import doctest
import json
import re

import pytest

import slackline as sl

from conftest import ROOT


def test_the_page_about_python():
    text = (ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 5
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)


def test_the_module():
    failed, tried = doctest.testmod(sl)
    assert tried and not failed


NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks(path, monkeypatch):
    cells = json.loads(path.read_text())["cells"]
    names: dict[str, object] = {"__name__": "notebook"}
    for cell in cells:
        if cell["cell_type"] == "code":
            code = "".join(cell["source"])
            # As notebooks do: the value of the last line is shown.
            body, _, last = code.rstrip().rpartition("\n")
            try:
                value = compile(last, path.name, "eval")
            except SyntaxError:
                exec(compile(code, path.name, "exec"), names)
                continue
            exec(compile(body, path.name, "exec"), names)
            shown = eval(value, names)
            for method in ("_repr_svg_", "_repr_html_"):
                if hasattr(shown, method) and not isinstance(shown, type):
                    text = getattr(shown, method)()
                    assert text is None or len(text) < 300_000

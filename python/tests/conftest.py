"""What the tests share."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

# A shell lets its background processes ignore Ctrl-C, and Python would too: tests of Ctrl-C would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import slackline as sl
from slackline import _native

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture
def wf() -> sl.Workflow:
    """The workflow of the README."""
    wf = sl.Workflow("demo")
    wf.task("a", seconds=3, outputs={"x": "10MB"})
    wf.task("b", work="20Gf", inputs=["x"], cores=2, memory="4GB")
    return wf


@pytest.fixture
def pf() -> sl.Platform:
    """Eight equal hosts."""
    return sl.Platform.cluster(8, cores=4, speed="2Gf", link="1Gbps", latency="50us")


def command(*words: str) -> str:
    """What the command prints, without the wall time."""
    code, out, err = _native.captured(["slackline", *words])
    assert code == 0, err
    return out


def untimed(document: str) -> str:
    """A document without the seconds that the work took here."""
    lines = [line for line in document.splitlines() if '"wall_seconds"' not in line]
    return "\n".join(lines)


def same(document: str, other: str) -> bool:
    """Whether two documents are the same byte by byte, but for the time that the work took here."""
    if untimed(document) == untimed(other):
        return True
    one, two = json.loads(document), json.loads(other)
    for key in one:
        if one.get(key) != two.get(key) and key != "wall_seconds":
            print(key, str(one.get(key))[:300], str(two.get(key))[:300], file=sys.stderr)
    return False


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.environ.setdefault("MPLBACKEND", "Agg")

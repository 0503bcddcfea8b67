#!/usr/bin/env python3
"""Compares the documents of `slackline compare` with expected ones.

    ci/long/compare_documents.py SLACKLINE FOLDER

FOLDER/campaigns holds NAME.csv with NAME.expected.json (`commands`: `args`, `exit`, `document`), and `bad/expected.json` with files and arguments
that are refused. Counts and words have to agree exactly, figures within 1e-9 of their size, the width of their interval or their mean.
"""

import json
import subprocess
import sys
from pathlib import Path

AROUND_ZERO = {"p", "p_holm", "effect", "cliff", "degradation", "degradation_not_best", "friedman", "friedman_p", "iman_davenport",
               "iman_davenport_p", "cd", "rank"}
ENDS = {"low": "mean", "high": "mean", "geometric_low": "geometric", "geometric_high": "geometric", "ratio_low": "ratio",
        "ratio_high": "ratio", "low_all": "change", "high_all": "change"}


def slack(key, want, beside):
    allowed = 1e-9 * abs(want)
    if key in ENDS:
        centre = beside.get(ENDS[key])
        if centre is None:
            centre = beside.get("change", 0)
        ends = [beside[k] for k in ENDS if k in beside and beside[k] is not None and ENDS[k] == ENDS[key]]
        width = max(ends) - min(ends) if ends else 0
        allowed = max(allowed, 1e-9 * width, 1e-9 * abs(centre or 0))
    if key in AROUND_ZERO:
        allowed = max(allowed, 1e-12)
    if key in ("sd", "margin") and want == 0:
        allowed = max(allowed, 1e-9 * abs(beside.get("mean") or 0))
    return allowed


def differences(got, want, place="", key="", beside=None):
    """Yields a line for each expectation, empty where it is met."""
    if isinstance(want, dict):
        if not isinstance(got, dict):
            yield f"{place}: {got!r} instead of an object"
            return
        for name, value in want.items():
            if name not in got:
                yield f"{place}.{name} is missing"
            else:
                yield from differences(got[name], value, f"{place}.{name}", name, want)
    elif isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            yield f"{place}: {len(got) if isinstance(got, list) else got!r} entries instead of {len(want)}"
            return
        for at, (x, y) in enumerate(zip(got, want)):
            yield from differences(x, y, f"{place}[{at}]", key, beside)
    elif isinstance(want, float) and isinstance(got, (int, float)):
        close = abs(got - want) <= slack(key, want, beside or {})
        yield "" if close else f"{place}: {got} instead of {want}"
    else:
        yield "" if got == want else f"{place}: {got!r} instead of {want!r}"


def run(program, folder, arguments):
    return subprocess.run([program, "compare", *arguments], cwd=folder, capture_output=True, text=True, timeout=600)


def main():
    program, folder = sys.argv[1], Path(sys.argv[2])
    wrong = 0
    for path in sorted((folder / "campaigns").glob("*.expected.json")):
        expected = json.loads(path.read_text())
        for command in expected["commands"]:
            files = [expected["old"], command["new"], "--no-regression"] if "old" in expected else [expected["file"]]
            done = run(program, path.parent, [*files, *command["args"], "--json"])
            lines = [] if done.returncode == command["exit"] else [f"exit {done.returncode}: {done.stderr.strip()}"]
            if not done.stdout:
                lines.append("no document")
            else:
                lines += differences(json.loads(done.stdout), command["document"])
            bad = [line for line in lines if line]
            wrong += len(bad)
            print(f"{path.name} {' '.join([*files[1:], *command['args']])}: {len(lines) - len(bad)} of {len(lines)} agree")
            for line in bad[:10]:
                print(f"  {line}")
    bad = folder / "campaigns/bad"
    for case in json.loads((bad / "expected.json").read_text()):
        done = run(program, bad, [case["file"], *case["args"], "--json"])
        refused = done.returncode == case["exit"] and not done.stdout and done.stderr
        wrong += not refused
        print(f"bad/{case['file']}: {'refused' if refused else f'exit {done.returncode}'}: {done.stderr.strip()}\n  wanted: {case['says']}")
    sys.exit(1 if wrong else 0)


main()

#!/usr/bin/env python3
"""Processor time of imports: a trace of 1,000,000 lines beside the csv crate that only splits it, a verbose Makeflow log beside WfCommons.

    ci/long/speed.py SLACKLINE FOLDER [PYTHON]

PYTHON is one with WfCommons (PyPI); without it, or without cargo and crates.io, that part is skipped, which is said. SLACKLINE has to be an optimised binary.
"""

import random
import resource
import shutil
import subprocess
import sys
from pathlib import Path

SLACKLINE, FOLDER = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
PYTHON = sys.argv[3] if len(sys.argv) > 3 else None
FAILED = []
LINES, RULES = 1_000_000, 5_000

SPLIT = r"""
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let mut reader = csv::ReaderBuilder::new().delimiter(b'\t').from_path(path).unwrap();
    let mut record = csv::ByteRecord::new();
    let mut fields = 0;
    while reader.read_byte_record(&mut record).unwrap() {
        fields += record.len();
    }
    println!("{fields}");
}
"""

WFCOMMONS = """
import logging, pathlib, sys, time
from wfcommons.wfinstances import MakeflowLogsParser
begun = time.process_time()
folder = pathlib.Path(sys.argv[1])
workflow = MakeflowLogsParser(folder, folder / "monitor").build_workflow("w")
workflow.write_json(folder / "wfcommons.json")
print(time.process_time() - begun)
"""


def seconds(*words, times=3):
    """Least processor time of a command, of several."""
    least = float("inf")
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, words))}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return least


def trace():
    """The default columns of Nextflow."""
    path = FOLDER / "trace.txt"
    chance = random.Random(1)
    with open(path, "w") as out:
        out.write("task_id\thash\tnative_id\tname\tstatus\texit\tsubmit\tduration\trealtime\t%cpu\tpeak_rss\tpeak_vmem\trchar\twchar\n")
        for k in range(LINES):
            took = chance.randint(1, 400)
            minute, second = divmod(k // 300, 60)
            hour, minute = divmod(minute, 60)
            out.write(
                f"{k}\t{k % 256:02x}/{k:06x}\t{3000 + k}\tMAIN:STEP{k % 40} (sample{k // 40})\tCOMPLETED\t0\t"
                f"2026-02-17 {hour:02}:{minute:02}:{second:02}.{k % 1000:03}\t{took // 60}m {took % 60}s\t{took}s\t"
                f"{chance.randint(50, 400)}.2%\t{chance.randint(1, 900)}.5 MB\t1.2 GB\t3.2 MB\t{chance.randint(1, 99)}.1 MB\n"
            )
    return path


def split(path):
    project = FOLDER / "split"
    (project / "src").mkdir(parents=True, exist_ok=True)
    (project / "Cargo.toml").write_text('[package]\nname = "split"\nversion = "0.1.0"\nedition = "2024"\n[dependencies]\ncsv = "1"\n[workspace]\n')
    (project / "src" / "main.rs").write_text(SPLIT)
    built = shutil.which("cargo") and subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=project, capture_output=True)
    program = project / "target" / "release" / "split"
    if not built or built.returncode != 0 or not program.exists():
        print("SKIPPED: the csv crate could not be built here")
        return None
    return seconds(program, path)


def makeflow():
    """A verbose log as Makeflow writes it: rules, then states."""
    folder = FOLDER / "makeflow"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "monitor").mkdir(parents=True)
    chance = random.Random(2)
    rules, log = [], []
    for k in range(RULES):
        parents = sorted(chance.sample(range(max(0, k - 50), k), min(k, chance.randint(0, 3))))
        command = " ".join(["step", f"--level {k % 7}", *(f"--in t{p}.out" for p in parents), f"--out t{k}.out"])
        rules.append(f"t{k}.out: {' '.join(f't{p}.out' for p in parents)}\n\t{command}\n")
        log += [
            f"# NODE\t{k}\t{command}", f'# CATEGORY\t{k}\t"default"', f'# SYMBOL\t{k}\t"default"',
            "\t".join(["# PARENTS", str(k), *map(str, reversed(parents))]),
            "\t".join(["# SOURCES", str(k), *(f"t{p}.out" for p in parents)]),
            f"# TARGETS\t{k}\tt{k}.out", f"# COMMAND\t{k}\t{command}",
        ]
    now = 1795112488938853
    log.append(f"# STARTED {now}")
    for k in range(RULES):
        log += [f"# FILE {now} t{k}.out 1 1073741824", f"{now + 40} {k} 1 {1000 + k} {RULES - k - 1} 1 {k} 0 0 {RULES}"]
        now += chance.randint(10_000, 900_000)
        log += [f"# FILE {now} t{k}.out 2 1000", f"{now + 9} {k} 2 {1000 + k} {RULES - k - 1} 0 {k + 1} 0 0 {RULES}"]
    log.append(f"# COMPLETED {now + 50}")
    (folder / "w.makeflow").write_text("\n".join(rules))
    (folder / "w.makeflow.makeflowlog").write_text("\n".join(log) + "\n")
    return folder


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = trace()
    ours, least = seconds(SLACKLINE, "import", path, "--json"), split(path)
    print(f"trace of {LINES:,} lines: {ours:.2f} s" + (f", {ours / least:.2f} times the csv crate ({least:.2f} s)" if least else ""))
    if least and ours > 3 * least:
        FAILED.append("a trace takes more than three times the csv crate")
    folder = makeflow()
    ours = seconds(SLACKLINE, "import", folder, "--json")
    if PYTHON is None:
        print(f"Makeflow log of {RULES:,} rules: {ours:.2f} s; SKIPPED: no WfCommons beside it")
    else:
        theirs = seconds(PYTHON, "-c", WFCOMMONS, folder, times=2)
        read = float(subprocess.run([PYTHON, "-c", WFCOMMONS, str(folder)], capture_output=True, text=True).stdout.split()[-1])
        print(
            f"Makeflow log of {RULES:,} rules: {ours:.3f} s, WfCommons {theirs:.2f} s ({read:.2f} s without loading its modules): "
            f"{theirs / ours:.0f} times ({read / ours:.0f})"
        )
        if theirs < 20 * ours:
            FAILED.append("a Makeflow log is less than 20 times as fast as WfCommons")
    sys.exit("\n".join(FAILED) or 0)


main()

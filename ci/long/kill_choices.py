#!/usr/bin/env python3
"""Kills real runs of the bundled `assembly` with SIGKILL at random moments, resumes them, and compares course and results
with a run that was left alone.

    ci/long/kill_choices.py [SLACKLINE] [KILLS] [SEED]
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time

slackline = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "target/debug/slackline")
kills = int(sys.argv[2]) if len(sys.argv) > 2 else 100
chance = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
RESULTS = ["genes.gff", "report.json"]


def chosen(run):
    """Decisions in the log, in order."""
    found = []
    with open(f"{run}/log.jsonl") as log:
        for line in log:
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # the torn end of a log
            if "chose" in entry:
                record = entry["chose"]
                found.append(tuple(json.dumps(record[key]) for key in sorted(record)))
    return found


def results(run):
    return [open(f"{run}/results/{name}").read() for name in RESULTS]


def start(*arguments):
    return subprocess.Popen([slackline, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


with tempfile.TemporaryDirectory() as place:
    os.chdir(place)
    # Six gaps: six passes and seven decisions.
    with open("reads.fq", "w") as reads:
        reads.write("@r1\nANNGGTGGTGGTGGTGGTGG\n")
    begin = time.monotonic()
    assert start("run", "assembly", "-j", "2", "--folder", "whole").wait() == 0
    length = time.monotonic() - begin
    course, outputs = chosen("whole"), results("whole")
    done = early = runs = 0
    while done < kills:
        runs += 1
        run = f"r{runs}"
        arguments = ["run", "assembly", "-j", "2", "--folder", run]
        while True:
            if chance.random() < 0.5 or not os.path.exists(f"{run}/log.jsonl"):
                process = start(*arguments)
                time.sleep(chance.uniform(0, 0.5 * length))
            else:
                # Right behind one of the next decisions.
                seen = len(chosen(run)) + chance.randint(1, 2)
                process = start(*arguments)
                while process.poll() is None and len(chosen(run)) < seen:
                    time.sleep(0.0005)
            if process.poll() is None:
                process.kill()
                done += 1
            code = process.wait()
            if code == 0:
                break
            assert code == -9, f"{run}: exit code {code}"
            if not os.path.exists(f"{run}/log.jsonl"):
                early += 1
                run = f"r{runs}-{early}"
                arguments = ["run", "assembly", "-j", "2", "--folder", run]
                continue
            arguments = ["resume", run]
            if subprocess.run([slackline, "replay", run], capture_output=True).returncode == 2:
                # Killed before the plan was in the log: nothing was done yet.
                early += 1
                run = f"r{runs}-{early}"
                arguments = ["run", "assembly", "-j", "2", "--folder", run]
        assert chosen(run) == course, f"{run}: another course\n{chosen(run)}\n{course}"
        assert results(run) == outputs, f"{run}: other results"
    print(f"{done} kills in {runs} runs ({early} before anything was logged): same course and results")

#!/usr/bin/env python3
"""Runs in a folder that was used before, beside make and Snakemake, and under kill -9.

    ci/long/again.py SLACKLINE FOLDER table [--snakemake PROGRAM]    what is redone after each sort of change
    ci/long/again.py SLACKLINE FOLDER kill [--times 200] [--seed 1]  kill -9 at random moments, with edits in between
    ci/long/again.py SLACKLINE FOLDER overhead [--rounds 5]          seconds per task beside `make -j2`, and of a run with nothing to do
    ci/long/again.py SLACKLINE FOLDER samples [--rounds 5]           the same of a workflow over 1,000 samples in 20 lines, with files
    ci/long/again.py SLACKLINE FOLDER predict                        a second run, predicted from the first

Exit code 1 where something does not hold.
"""

import argparse
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import time

TASKS = {
    "count": ("grep -c . in.txt > n.txt", ["in.txt"], ["n.txt"]),
    "sort": ("sort in.txt > s.txt", ["in.txt"], ["s.txt"]),
    "join": ("cat n.txt s.txt > j.txt", ["n.txt", "s.txt"], ["j.txt"]),
    "pack": ("gzip -nc j.txt > j.gz", ["j.txt"], ["j.gz"]),
    "other": ("echo other > o.txt", [], ["o.txt"]),
}
INPUT = "pear\napple\nfig\n"


class Pipeline:
    """A workflow, and its files for all engines."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.tasks = dict(TASKS)
        self.seconds = {}
        self.variable = "one"
        self.files = {"in.txt": INPUT}
        for name, text in self.files.items():
            self.path(name).write_text(text)
            os.utime(self.path(name), (time.time() - 1000,) * 2)
        self.write()

    def path(self, name):
        return self.folder / name

    def write(self):
        made = {o for _, _, outputs in self.tasks.values() for o in outputs}
        given = sorted({i for _, inputs, _ in self.tasks.values() for i in inputs} - made)
        read = {i for _, inputs, _ in self.tasks.values() for i in inputs}
        toml = f'[defaults]\nenv = {{ VARIABLE = "{self.variable}" }}\n[files]\n' + "".join(f'"{name}" = "1kB"\n' for name in given)
        finals = [o for _, _, outputs in self.tasks.values() for o in outputs if o not in read]
        make = f"SHELL = /bin/sh\nexport VARIABLE = {self.variable}\n.DELETE_ON_ERROR:\nall: " + " ".join(finals) + "\n"
        snake = f"shell.prefix('export VARIABLE={self.variable}; ')\nrule all:\n    input: {json.dumps(finals)[1:-1]}\n"
        for name, (command, inputs, outputs) in self.tasks.items():
            toml += f"\n[task.{name}]\ncommand = {json.dumps(command)}\n"
            toml += f"inputs = {json.dumps(inputs)}\noutputs = {json.dumps(outputs)}\n"
            toml += f"time = \"{self.seconds.get(name, 1)}s\"\n"
            logged = f"echo {name} >> redone; {command}"
            make += f"{' '.join(outputs)}: {' '.join(inputs)}\n\t{logged.replace('$', '$$')}\n"
            snake += f"rule {name}:\n"
            if inputs:
                snake += f"    input: {json.dumps(inputs)[1:-1]}\n"
            snake += f"    output: {json.dumps(outputs)[1:-1]}\n"
            shell = logged.replace("{", "{{").replace("}", "}}")
            snake += f"    shell: {json.dumps(shell)}\n"
        self.path("w.toml").write_text(toml)
        self.path("Makefile").write_text(make)
        self.path("Snakefile").write_text(snake)

    def edit(self, task, command=None, inputs=None, outputs=None):
        was = self.tasks[task]
        self.tasks[task] = (command or was[0], was[1] if inputs is None else inputs, outputs or was[2])
        self.write()


class Engine:
    def __init__(self, name, run, place):
        self.name, self.run, self.place = name, run, place


def quiet(words, folder, **options):
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, **options)


def of_make(pipeline, program):
    return logged(pipeline, [program, "-s", "-j2", "-k"])


def of_snakemake(pipeline, program):
    return logged(pipeline, [program, "-q", "all", "-c", "2", "--keep-going", "--rerun-incomplete"])


def logged(pipeline, words):
    log = pipeline.path("redone")
    log.unlink(missing_ok=True)
    quiet(words, pipeline.folder)
    return sorted(set(log.read_text().split())) if log.exists() else []


def of_slackline(pipeline, program):
    done = quiet([program, "run", "w.toml", "-j", "2", "--retries", "0", "--json"], pipeline.folder)
    if not done.stdout.strip():
        return ["refused: " + done.stderr.strip().splitlines()[0]]
    document = json.loads(done.stdout)
    redo = document.get("redo")
    return begun(pipeline) if redo is None else sorted(entry["task"] for entry in redo)


def begun(pipeline):
    """Tasks whose processes the last engine of our run has started."""
    tasks = set()
    for line in pipeline.path("w.run/log.jsonl").read_text().splitlines():
        note = json.loads(line).get("note")
        if isinstance(note, dict) and "driven" in note:
            tasks = set()
        elif isinstance(note, dict) and "process" in note:
            tasks.add(note["process"]["name"])
    return sorted(tasks)


def output(pipeline, name, results=False):
    """Paths of a task's output: beside the workflow for the others, in the run folder for ours."""
    if results:
        return [pipeline.path(name), pipeline.path("w.run/results") / name]
    return [pipeline.path(name), *pipeline.path("w.run/hosts").glob("*/files/" + name)]


def replace(paths, text):
    for path in paths:
        if path.exists():
            path.unlink()
            path.write_text(text)


def remove(paths):
    for path in paths:
        path.unlink(missing_ok=True)


def situations():
    """Name, what is changed, what has to be redone by content."""
    def nothing(p): pass
    def command(p): p.edit("sort", "sort -r in.txt > s.txt")
    def same(p): p.edit("sort", "sort --stable in.txt > s.txt")
    def content(p): p.path("in.txt").write_text(INPUT + "plum\n")
    def size(p): p.path("in.txt").write_text("pear\napple\nfit\n")
    def touched(p): os.utime(p.path("in.txt"))
    def added(p):
        p.path("more.txt").write_text("x\n")
        p.edit("count", inputs=["in.txt", "more.txt"])
    def removed(p): p.edit("join", "cat n.txt > j.txt", ["n.txt"])
    def more_output(p): p.edit("count", "grep -c . in.txt | tee n.txt > x.txt", outputs=["n.txt", "x.txt"])
    def final_gone(p): remove(output(p, "j.gz", True))
    def middle_gone(p): remove(output(p, "n.txt"))
    def final_edited(p): replace(output(p, "j.gz", True), "mine\n")
    def middle_edited(p): replace(output(p, "s.txt"), "mine\n")
    def middle_touched(p): [os.utime(path) for path in output(p, "n.txt") if path.exists()]
    def task_added(p):
        p.tasks["last"] = ("cp j.gz k.gz", ["j.gz"], ["k.gz"])
        p.write()
    def task_removed(p):
        del p.tasks["other"]
        p.write()
    def renamed(p):
        p.tasks = {("order" if n == "sort" else n): t for n, t in p.tasks.items()}
        p.write()
    def output_renamed(p):
        p.edit("sort", "sort in.txt > t.txt", outputs=["t.txt"])
        p.edit("join", "cat n.txt t.txt > j.txt", ["n.txt", "t.txt"])
    def order(p):
        p.tasks = dict(reversed(p.tasks.items()))
        p.write()
    def estimate(p):
        p.seconds["sort"] = 5
        p.write()
    def blanks(p):
        for name in ["w.toml", "Snakefile", "Makefile"]:
            p.path(name).write_text("# a remark\n\n" + p.path(name).read_text())
    def two_edits(p):
        command(p)
        p.edit("pack", "gzip -n9c j.txt > j.gz")
    def edit_and_gone(p):
        command(p)
        middle_gone(p)
    def moved(p):
        target = p.folder.with_name(p.folder.name + "-moved")
        shutil.rmtree(target, ignore_errors=True)
        p.folder.rename(target)
        p.folder = target
    def first_task(p): p.edit("other", "echo others > o.txt")
    def last_task(p): p.edit("pack", "gzip -n1c j.txt > j.gz")
    def results_gone(p):
        for name in ["j.gz", "o.txt"]:
            remove(output(p, name, True))
    def all_gone(p):
        for name in ["n.txt", "s.txt", "j.txt"]:
            remove(output(p, name))
    def two_inputs(p):
        p.path("in.txt").write_text(INPUT.replace("fig", "kiwi"))
        command(p)
    def swapped(p): p.edit("join", inputs=["s.txt", "n.txt"])
    def quotes(p): p.edit("other", "echo 'other' > o.txt")
    def variable(p):
        p.variable = "two"
        p.write()
    def parameter(p): p.edit("sort", "sort -k 1r in.txt > s.txt")
    def split(p):
        p.edit("join", "cat n.txt > j.txt", ["n.txt"])
        p.tasks["more"] = ("cat s.txt > m.txt", ["s.txt"], ["m.txt"])
        p.write()
    yield "nothing changed", nothing, []
    yield "command of a task", command, ["join", "pack", "sort"]
    yield "command, same output", same, ["sort"]
    yield "words of a command, same output", quotes, ["other"]
    yield "command of a first task", first_task, ["other"]
    yield "command of a last task", last_task, ["pack"]
    yield "parameter of a command", parameter, ["join", "pack", "sort"]
    yield "environment of all tasks", variable, ["count", "join", "other", "pack", "sort"]
    yield "two commands", two_edits, ["join", "pack", "sort"]
    yield "input content", content, ["count", "join", "pack", "sort"]
    yield "input content of the same size", size, ["count", "join", "pack", "sort"]
    yield "input and a command", two_inputs, ["count", "join", "pack", "sort"]
    yield "time of the input only", touched, []
    yield "input added", added, ["count"]
    yield "input removed", removed, ["join", "pack"]
    yield "order of inputs", swapped, []
    yield "output added", more_output, ["count"]
    yield "output renamed", output_renamed, ["join", "sort"]
    yield "final output deleted", final_gone, ["pack"]
    yield "output between tasks deleted", middle_gone, ["count"]
    yield "final output edited", final_edited, ["pack"]
    yield "output between tasks edited", middle_edited, ["sort"]
    yield "time of an output only", middle_touched, []
    yield "all final outputs deleted", results_gone, ["other", "pack"]
    yield "all outputs between tasks deleted", all_gone, ["count", "join", "sort"]
    yield "command changed and output deleted", edit_and_gone, ["count", "join", "pack", "sort"]
    yield "task added", task_added, ["last"]
    yield "task removed", task_removed, []
    yield "task added in the middle", split, ["join", "more", "pack"]
    yield "task renamed", renamed, []
    yield "order of tasks", order, []
    yield "estimate", estimate, []
    yield "remarks and blank lines", blanks, []
    yield "folder moved", moved, []


def failure_fixed(pipeline, run, program):
    """A task fails, and is fixed."""
    command = pipeline.tasks["pack"][0]
    pipeline.edit("pack", "false")
    run(pipeline, program)
    pipeline.edit("pack", command)
    return run(pipeline, program)


def killed(pipeline, run, program):
    """All is killed when a task has written its output and is not over."""
    command = pipeline.tasks["other"][0]
    pipeline.edit("other", command + f"; sleep 1; sleep $(cat {pipeline.path('nap')})")
    pipeline.path("nap").write_text("30")
    child = subprocess.Popen(
        [sys.executable, __file__, program, str(pipeline.folder), run.__name__],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    end = time.monotonic() + 30
    while not any(path.exists() for path in [pipeline.path("o.txt"), *pipeline.path("w.run/hosts").glob("*/work/*/o.txt")]):
        assert time.monotonic() < end, "nothing was written"
        time.sleep(0.02)
    time.sleep(1.5 if run is of_snakemake else 0.5)
    for pid in descendants(child.pid):
        os.kill(pid, signal.SIGKILL)
    child.wait()
    pipeline.path("nap").write_text("0")
    if run is of_snakemake:
        quiet([program, "--unlock"], pipeline.folder)
    return run(pipeline, program)


def descendants(root):
    """A process and all that descend from it."""
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(words[1])
    found = [root]
    for pid in found:
        found.extend(child for child, parent in parents.items() if parent == pid)
    return found


def two_at_once(pipeline, run, program):
    """A second run is begun while the first goes on."""
    pipeline.edit("other", TASKS["other"][0] + "; sleep 3")
    child = subprocess.Popen(
        [sys.executable, __file__, program, str(pipeline.folder), run.__name__],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1.5)
    words = {of_make: [program, "-s", "-j2", "-k"], of_snakemake: [program, "-q", "all", "-c", "2"],
             of_slackline: [program, "run", "w.toml", "-j", "2"]}[run]
    second = quiet(words, pipeline.folder)
    child.wait()
    return ["both run"] if second.returncode == 0 else ["the second is refused"]


def courses():
    """Name, what is done instead of one change between two runs, and the last answer."""
    yield "failure fixed", failure_fixed, ["pack"]
    yield "killed between output and record", killed, ["other"]
    yield "two runs at once", two_at_once, ["the second is refused"]


def table(arguments):
    engines = [("make", of_make, "make")]
    if arguments.snakemake:
        engines.append(("Snakemake", of_snakemake, arguments.snakemake))
    engines.append(("slackline", of_slackline, arguments.slackline))
    print("| situation | " + " | ".join(name for name, *_ in engines) + " |")
    print("|---|" + "---|" * len(engines))
    wrong = 0
    for number, (name, change, expected) in enumerate(situations()):
        row = []
        for engine, run, program in engines:
            pipeline = Pipeline(arguments.folder / f"{engine}-{number}")
            run(pipeline, program)
            time.sleep(0.02)
            change(pipeline)
            redone = run(pipeline, program)
            row.append(", ".join(redone) or "nothing")
            if engine == "slackline" and redone != expected:
                wrong += 1
                row[-1] += f" (expected {', '.join(expected) or 'nothing'})"
            shutil.rmtree(pipeline.folder)
        print(f"| {name} | " + " | ".join(row) + " |", flush=True)
    for number, (name, course, expected) in enumerate(courses()):
        row = []
        for engine, run, program in engines:
            pipeline = Pipeline(arguments.folder / f"{engine}-course-{number}")
            done = course(pipeline, run, program)
            row.append(", ".join(done) or "nothing")
            if engine == "slackline" and done != expected:
                wrong += 1
                row[-1] += f" (expected {', '.join(expected)})"
            shutil.rmtree(pipeline.folder, ignore_errors=True)
        print(f"| {name} | " + " | ".join(row) + " |", flush=True)
    return wrong


class Place(Pipeline):
    """A folder that another process has made."""

    def __init__(self, folder):
        self.folder, self.tasks = pathlib.Path(folder), dict(TASKS)


def contents(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def kill(arguments):
    draw = random.Random(arguments.seed)
    pipeline = Pipeline(arguments.folder / "kill")
    slow = {name: (f"sleep 0.0{n}; {c}", i, o) for n, (name, (c, i, o)) in enumerate(TASKS.items(), 2)}
    kills = edits = checks = wrong = 0
    pipeline.tasks = dict(slow)
    pipeline.write()
    run = [arguments.slackline, "run", "w.toml", "-j", "2"]
    while kills < arguments.times:
        if draw.random() < 0.4:
            edits += 1
            kind = draw.randrange(6)
            if kind == 0:
                pipeline.edit("sort", slow["sort"][0].replace("sort", draw.choice(["sort", "sort -r", "sort -f"]), 1))
            elif kind == 1:
                pipeline.edit("pack", slow["pack"][0].replace("-nc", draw.choice(["-nc", "-n9c", "-n1c"])))
            elif kind == 2:
                pipeline.path("in.txt").write_text(INPUT + draw.choice(["", "plum\n", "kiwi\n"]))
            elif kind == 3 and "last" not in pipeline.tasks:
                pipeline.tasks["last"] = ("cp j.gz k.gz", ["j.gz"], ["k.gz"])
                pipeline.write()
            elif kind == 4 and "last" in pipeline.tasks:
                del pipeline.tasks["last"]
                pipeline.write()
            else:
                remove(output(pipeline, draw.choice(["n.txt", "s.txt", "j.txt"]))[1:])
        words = run if draw.random() < 0.7 or not pipeline.path("w.run/log.jsonl").exists() else \
            [arguments.slackline, "resume", "w.run"]
        child = subprocess.Popen(words, cwd=pipeline.folder, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, start_new_session=True)
        try:
            child.wait(timeout=draw.uniform(0.0, arguments.most))
            said = child.stderr.read().decode()
            if child.returncode != 0 and "input" not in said and "is gone from the run folder" not in said:
                print(f"exit code {child.returncode}: {said}")
                wrong += 1
        except subprocess.TimeoutExpired:
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
            kills += 1
        child.stderr.close()
        if draw.random() < 0.2:
            checks += 1
            done = quiet(run + ["--json"], pipeline.folder)
            if done.returncode != 0:
                print(f"exit code {done.returncode}: {done.stderr}")
                wrong += 1
                continue
            clean = quiet(run + ["--folder", "clean"], pipeline.folder)
            assert clean.returncode == 0, clean.stderr
            ours, theirs = (contents(pipeline.path(f"{name}/results")) for name in ["w.run", "clean"])
            if ours != theirs:
                names = sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))
                print(f"after {kills} kills: other results than those of a clean run: {', '.join(names)}", flush=True)
                wrong += 1
                if arguments.stop:
                    sys.exit(1)
            shutil.rmtree(pipeline.path("clean"))
            again = json.loads(quiet(run + ["--json"], pipeline.folder).stdout)
            if again["redo"]:
                print(f"after {kills} kills: redone without a change: {again['redo']}")
                wrong += 1
    # Every process of a task has a reason before it: in each run of the folder but the first.
    reasons, first, unexplained, attempts = set(), True, 0, 0
    for line in pipeline.path("w.run/log.jsonl").read_text().splitlines()[1:]:
        record = json.loads(line)
        if "definition" in record:
            first, reasons = False, set()
        note = record.get("note")
        if isinstance(note, dict) and "redo" in note:
            reasons.add(note["redo"]["name"])
        if isinstance(note, dict) and "process" in note:
            attempts += 1
            unexplained += not first and note["process"]["name"] not in reasons
    print(f"{kills} kills, {edits} edits, {checks} comparisons with a clean run, {attempts} attempts, "
          f"{unexplained} without a reason, {wrong} wrong")
    return wrong + unexplained


def timed(words, folder):
    """Wall and processor seconds of a command and all that it starts."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = quiet(words, folder)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def beside_make(arguments, write, number):
    """Our run and make's by turns, each in a folder of its own: file systems are slow where many files were just
    removed. Returns our last folder and the ratio of processor seconds."""
    ours, theirs = [], []
    for round_ in range(arguments.rounds):
        for name, words, times in [("make", ["make", "-s", "-j2"], theirs),
                                   ("run", [arguments.slackline, "run", "w.toml", "-j", "2", "-q"], ours)]:
            folder = arguments.folder / f"{arguments.what}-{name}-{round_}"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            write(folder)
            times.append(timed(words, folder))
    medians = [[statistics.median(column) for column in zip(*times)] for times in (ours, theirs)]
    (wall, cpu), (wall_of_make, cpu_of_make) = medians
    print(f"{number} tasks: {1e3 * wall / number:.2f} ms a task, {1e3 * cpu / number:.2f} ms of processors; make -j2 "
          f"{1e3 * wall_of_make / number:.2f} and {1e3 * cpu_of_make / number:.2f} ms; ratios {wall / wall_of_make:.2f} "
          f"and {cpu / cpu_of_make:.2f}")
    return folder, cpu / cpu_of_make


def nothing_to_do(arguments, folder):
    seconds = min(timed([arguments.slackline, "run", "w.toml", "-j", "2", "-q"], folder)[0] for _ in range(3))
    print(f"nothing to do: {seconds:.2f} s")
    return seconds


def overhead(arguments):
    number = arguments.tasks

    def write(folder):
        toml, make = "", "all: " + " ".join(f"o{n}" for n in range(number)) + "\n"
        for n in range(number):
            toml += f'[task.t{n}]\ncommand = "echo {n} > o{n}"\noutputs = ["o{n}"]\ntime = "5ms"\n'
            make += f"o{n}:\n\techo {n} > o{n}\n"
        (folder / "w.toml").write_text(toml)
        (folder / "Makefile").write_text(make)
    folder, ratio = beside_make(arguments, write, number)
    return int(ratio > 1.5) + int(nothing_to_do(arguments, folder) > 1.0)


SAMPLES = '''[samples]
file = "samples.csv"

[defaults]
time = "5ms"

[files]
"raw/{sample}.txt" = "100B"

[kind.trim]
retries = 1

[task]
trim = { foreach = "sample", inputs = ["raw/{sample}.txt"], outputs = ["{sample}.trim"], command = "head -n 3 {inputs} > {outputs}" }
sort = { foreach = "sample", inputs = ["{sample}.trim"], outputs = ["{sample}.sort"], command = "sort {inputs} > {outputs}" }
count = { foreach = "sample", inputs = ["{sample}.sort"], outputs = ["{sample}.count"], command = "wc -l < {inputs} > {outputs}" }
pack = { foreach = "sample", inputs = ["{sample}.sort", "{sample}.count"], outputs = ["{sample}.gz"], command = "gzip -nc {sample}.sort > {outputs}" }
'''


def samples(arguments):
    names = [f"S{n:04}" for n in range(arguments.tasks // 4)]

    def write(folder):
        (folder / "raw").mkdir()
        (folder / "w.toml").write_text(SAMPLES)
        (folder / "samples.csv").write_text("sample\n" + "".join(f"{name}\n" for name in names))
        make = "all: " + " ".join(f"{name}.gz" for name in names) + "\n"
        for n, s in enumerate(names):
            (folder / f"raw/{s}.txt").write_text(f"b{n}\na{n}\nc\nd\n")
            make += (f"{s}.trim: raw/{s}.txt\n\thead -n 3 $^ > $@\n{s}.sort: {s}.trim\n\tsort $^ > $@\n"
                     f"{s}.count: {s}.sort\n\twc -l < $^ > $@\n{s}.gz: {s}.sort {s}.count\n\tgzip -nc $< > $@\n")
        (folder / "Makefile").write_text(make)
    folder, ratio = beside_make(arguments, write, 4 * len(names))
    results = len(list((folder / "w.run/results").iterdir()))
    print(f"{len(SAMPLES.splitlines())} lines, {results} results")
    return int(ratio > 1.5) + int(nothing_to_do(arguments, folder) > 1.0) + int(results != len(names))


def predict(arguments):
    pipeline = Pipeline(arguments.folder / "predict")
    pipeline.tasks = {}
    for n in range(12):
        pipeline.tasks[f"a{n}"] = (f"sleep 0.{3 + n % 4}; head -c {1000 * n} /dev/zero > a{n}", [], [f"a{n}"])
        pipeline.tasks[f"b{n}"] = (f"sleep 0.2; wc -c a{n} > b{n}", [f"a{n}"], [f"b{n}"])
    inputs = [f"b{n}" for n in range(12)]
    pipeline.tasks["last"] = ("sleep 0.5; cat " + " ".join(inputs) + " > last", inputs, ["last"])
    pipeline.write()
    run = [arguments.slackline, "run", "w.toml", "-j", "2", "--json"]
    first = json.loads(quiet(run, pipeline.folder).stdout)["makespan"]
    said = json.loads(quiet(run + ["--new", "--folder", "w.run-2", "--dry-run"], pipeline.folder).stdout)["makespan"]
    second = json.loads(quiet(run + ["--new", "--folder", "w.run-3"], pipeline.folder).stdout)["makespan"]
    error = said / second - 1
    print(f"first run {first:.2f} s, second predicted {said:.2f} s, was {second:.2f} s: {100 * error:+.1f} %")
    return int(abs(error) > 0.25)


def main():
    single = {run.__name__: run for run in (of_make, of_snakemake, of_slackline)}
    if len(sys.argv) == 4 and sys.argv[3] in single:
        single[sys.argv[3]](Place(sys.argv[2]), sys.argv[1])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("slackline", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("folder", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("what", choices=["table", "kill", "overhead", "samples", "predict"])
    parser.add_argument("--snakemake")
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stop", action="store_true", help="stop where something is wrong, and leave it as it is")
    parser.add_argument("--most", type=float, default=0.6, help="longest time before a kill, in seconds")
    parser.add_argument("--tasks", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    sys.exit(1 if globals()[arguments.what](arguments) else 0)


if __name__ == "__main__":
    main()

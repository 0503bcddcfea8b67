"""Runs engines on known graphs and checks what slackline makes of their records: SLACKLINE FOLDER PART."""

import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import shapes

HERE = Path(__file__).resolve().parent
SLACKLINE, FOLDER, PART = sys.argv[1], Path(sys.argv[2]).resolve(), sys.argv[3]
FAILED = []


def call(*words, cwd=None, check=True):
    done = subprocess.run([str(w) for w in words], cwd=cwd, capture_output=True, text=True)
    if check and done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done


def expect(what, found, wanted):
    if found != wanted:
        FAILED.append(what)
        print(f"FAILED {what}: {found}, expected {wanted}")


def fresh(name):
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def write(graph, name, folder, command=None):
    (folder / "workflow.toml").write_text(shapes.toml(graph, name, str(command or SLACKLINE)))
    (folder / "graph.json").write_text(json.dumps(graph))
    return folder


def snakemake(folder, cores, *options):
    if not (folder / "Snakefile").exists():
        call(SLACKLINE, "convert", "workflow.toml", "Snakefile", "--to", "snakemake", cwd=folder)
    begun = time.time()
    call("snakemake", "--cores", cores, *options, cwd=folder)
    return time.time() - begun, [folder]


def dask(folder, workers):
    records = folder / "records"
    records.mkdir(exist_ok=True)
    done = call(sys.executable, HERE / "drive_dask.py", folder / "graph.json", workers, records)
    return float(done.stdout.split()[-1]), [records]


def parsl(folder, workers):
    done = call(sys.executable, HERE / "drive_parsl.py", folder / "graph.json", workers, folder)
    return float(done.stdout.split()[-1]), [folder / "runinfo" / "monitoring.db"]


def makeflow(folder, workers, *options):
    call(SLACKLINE, "convert", "workflow.toml", "w.makeflow", "--to", "makeflow", cwd=folder)
    begun = time.time()
    call("makeflow", "-T", "local", "-j", workers, "--log-verbose", *options, "w.makeflow", cwd=folder)
    return time.time() - begun, [folder / "w.makeflow.makeflowlog"]


def cwl(folder, _):
    call(SLACKLINE, "convert", "workflow.toml", "w.cwl", "--to", "cwl", cwd=folder)
    begun = time.time()
    options = ["--provenance", "research", "--outdir", "out", "--preserve-entire-environment"]
    call("cwltool", *options, "w.cwl", cwd=folder)
    return time.time() - begun, [folder / "research"]


def closed_loop(name, paths):
    """Simulated as recorded, the run ends when it did; shares of the explanation add up."""
    facts = json.loads(call(SLACKLINE, "import", *paths, "-o", FOLDER / f"{name}.import", "--json").stdout)
    made = FOLDER / f"{name}.import"
    words = ["simulate", "workflow.json", "-p", "platform.toml", "--schedule", "plan.json"]
    again = call(SLACKLINE, *words, "--scenario", "recorded.toml", "--json", cwd=made)
    ratio = json.loads(again.stdout)["makespan"] / facts["makespan"]
    told = json.loads(call(SLACKLINE, "explain", *paths, "--json").stdout)
    share = sum(told["shares"].values())
    expect(f"{name}: closed loop within 2 %", abs(ratio - 1) <= 0.02, True)
    expect(f"{name}: shares add up", abs(share - 1) < 1e-6, True)
    return facts, ratio


def check():
    """Every engine leaves behind what the definition says."""
    graph = shapes.layers(20, 0.2, 1, width=5)
    edges = sum(len(parents) for _, parents in graph.values())
    engines = {"snakemake": snakemake, "dask": dask, "parsl": parsl, "cwl": cwl}
    if shutil.which("makeflow"):
        engines["makeflow"] = makeflow
    else:
        print("SKIPPED: makeflow (Debian: coop-computing-tools) could not be installed here")
    for name, run in engines.items():
        folder = write(graph, name, fresh(f"check-{name}"))
        _, paths = run(folder, 2)
        facts, ratio = closed_loop(f"check-{name}", paths)
        expect(f"{name}: tasks", facts["tasks"], len(graph))
        expect(f"{name}: edges", facts["edges"], edges)
        expect(f"{name}: attempts", facts["attempts"], len(graph))
        if name not in ("parsl", "cwl"):
            expect(f"{name}: files", facts["files"], len(graph))
        print(f"{name}: {facts['tasks']} tasks, {facts['edges']} edges, closed loop {ratio:.4f}")
        if name == "cwl":
            call(os.environ["RUNCRATE"], "convert", "research", "-o", "crate", cwd=folder)
            facts, ratio = closed_loop("check-ro-crate", [folder / "crate"])
            expect("ro-crate: tasks", facts["tasks"], len(graph))
            expect("ro-crate: edges", facts["edges"], edges)
            print(f"ro-crate: {facts['tasks']} tasks, {facts['edges']} edges, closed loop {ratio:.4f}")


    attempts(graph, edges, engines)


def attempts(graph, edges, engines):
    """A task that fails once: every engine repeats it, and both attempts are found."""
    flaky = "t3"
    os.environ["FLAKY"] = flaky
    options = {"snakemake": ["--retries", "1"], "makeflow": ["--retry"], "dask": [], "parsl": []}
    for name in [name for name in options if name in engines]:
        folder = fresh(f"attempts-{name}")
        command = folder / "once"
        command.write_text(
            f'#!/bin/sh\ncase "$*" in\n*"--out {flaky}.out"*)\n'
            f"    [ -e failed-once ] || {{ touch failed-once; sleep 1; exit 1; }} ;;\nesac\n"
            f'exec {SLACKLINE} "$@"\n'
        )
        command.chmod(0o755)
        write(graph, name, folder, command)
        _, paths = engines[name](folder, 2, *options[name])
        facts, ratio = closed_loop(f"attempts-{name}", paths)
        found = [facts[key] for key in ("tasks", "edges", "attempts", "failed_attempts")]
        expect(f"{name}: tasks, edges, attempts, failed", found, [len(graph), edges, len(graph) + 1, 1])
        print(f"{name}: {facts['attempts']} attempts, {facts['failed_attempts']} failed, closed loop {ratio:.4f}")
    del os.environ["FLAKY"]


def predict():
    """What a run on two workers says of one on four; without start-up, which goes by how busy the machine is."""
    print("| shape | engine | on 2 workers | on 4, predicted | on 4 | error |")
    print("|---|---|---|---|---|---|")
    for shape, make in shapes.SHAPES.items():
        graph = make(60, 1.0, 7)
        for name, run in {"snakemake": snakemake, "parsl": parsl, "dask": dask}.items():
            spans = {}
            for workers in (2, 4):
                folder = write(graph, shape, fresh(f"{shape}-{name}-{workers}"))
                _, paths = run(folder, workers)
                made = FOLDER / f"{shape}-{name}-{workers}.import"
                facts = json.loads(call(SLACKLINE, "import", *paths, "-o", made, "--json").stdout)
                before = facts["start_up"]["before"]
                spans[workers] = facts["makespan"] - before
                if workers == 2:
                    told = json.loads(call(SLACKLINE, "explain", *paths, "--json").stdout)
                    predicted = told["what_if"]["twice_the_slots"] - before
            error = predicted / spans[4] - 1
            expect(f"{shape}, {name}: predicted within 10 %", abs(error) <= 0.1, True)
            print(
                f"| {shape} | {name} | {spans[2]:.1f} s | {predicted:.1f} s | {spans[4]:.1f} s "
                f"| {100 * error:+.1f} % |",
                flush=True,
            )


def plugin():
    """The scheduler plug-in beside Snakemake's own, on random graphs with heavy tails."""

    def one(seed):
        graph = shapes.random_graph(60, 1.5, seed)
        found = {}
        folder = write(graph, "random", fresh(f"plugin-{seed}"))
        # The first run is the history of the others.
        for scheduler in ("greedy", "slackline"):
            for task in graph:
                (folder / f"{task}.out").unlink(missing_ok=True)
            _, paths = snakemake(folder, 4, "--scheduler", scheduler, "--forceall")
            facts = json.loads(call(SLACKLINE, "import", *paths, "--json").stdout)
            found[scheduler] = facts["makespan"]
        return seed, found

    tests = HERE.parent.parent / "bridges" / "snakemake-scheduler-plugin-slackline" / "tests"
    call(sys.executable, "-m", "unittest", "discover", "-s", tests)
    together = int(os.environ.get("ENGINES_TOGETHER", "2"))
    ratios = []
    print("| graph | greedy | slackline | ratio |\n|---|---|---|---|")
    with ThreadPoolExecutor(together) as pool:
        for seed, found in pool.map(one, range(10)):
            ratio = found["slackline"] / found["greedy"]
            ratios.append(ratio)
            print(
                f"| {seed} | {found['greedy']:.1f} s | {found['slackline']:.1f} s | {ratio:.3f} |",
                flush=True,
            )
    mean = statistics.fmean(ratios)
    print(f"mean ratio {mean:.3f}, largest {max(ratios):.3f}")
    expect("plug-in: never more than 3 % behind greedy", max(ratios) <= 1.03, True)
    expect("plug-in: 10 % ahead on average", mean <= 0.9, True)
    print(call(sys.executable, HERE / "decision_time.py").stdout, end="")


def fixtures():
    """Records of small runs as test data, without names of this machine, and their definition."""
    graph = shapes.layers(8, 0.2, 1, width=3)
    target = HERE.parent.parent / "crates" / "import" / "tests" / "fixtures"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    (target / "definition.json").write_text(json.dumps(graph, indent=1) + "\n")
    kept = {
        "snakemake": [".snakemake/metadata", ".snakemake/log"],
        "dask": ["records"],
        "parsl": ["runinfo/monitoring.db"],
        "cwl": ["research/metadata/provenance/primary.cwlprov.json"],
        "makeflow": ["w.makeflow", "w.makeflow.makeflowlog"],
    }
    for name, run in {"snakemake": snakemake, "dask": dask, "parsl": parsl, "cwl": cwl, "makeflow": makeflow}.items():
        folder = write(graph, name, fresh(f"fixtures-{name}"))
        run(folder, 2)
        for path in kept[name]:
            keep(folder / path, target / name / (path if name == "snakemake" else Path(path).name), folder)
        if name == "cwl":
            call(os.environ["RUNCRATE"], "convert", "research", "-o", "crate", cwd=folder)
            keep(folder / "crate" / "ro-crate-metadata.json", target / "ro-crate" / "ro-crate-metadata.json", folder)


def keep(source, target, folder):
    """Copies a record without the names of this machine."""
    if source.is_dir():
        for entry in sorted(source.iterdir()):
            keep(entry, target / entry.name, folder)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    python = f"{Path(sys.executable).parent}/"
    names = {SLACKLINE: "slackline", python: "", str(folder): "/home/user", str(FOLDER): "/home", os.uname().nodename: "node"}

    if source.suffix == ".db":
        shutil.copyfile(source, target)
        database = sqlite3.connect(target)
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            for _, column, kind, *_ in database.execute(f'PRAGMA table_info("{table}")').fetchall():
                if kind.upper().startswith(("TEXT", "VARCHAR")):
                    for old, new in names.items():
                        database.execute(f'UPDATE "{table}" SET "{column}" = replace("{column}", ?, ?)', (old, new))
        database.commit()
        database.execute("VACUUM")
        database.close()
        return
    text = source.read_text()
    for old, new in names.items():
        text = text.replace(old, new)
    target.write_text(text)


{"fixtures": fixtures, "check": check, "predict": predict, "plugin": plugin}[PART]()
if FAILED:
    sys.exit(f"{len(FAILED)} checks failed")

"""Workflows of sleeping tasks, as a definition and as workflow TOML."""

import random


def _seconds(rng, mean):
    """Heavy-tailed: log-normal of sigma 0.8."""
    return round(mean * rng.lognormvariate(-0.32, 0.8), 3)


def fan(tasks, mean, seed):
    """One source, many independent tasks, one sink."""
    rng = random.Random(f"fan-{seed}")
    names = [f"t{k}" for k in range(tasks)]
    parents = {names[0]: []}
    for name in names[1:-1]:
        parents[name] = [names[0]]
    parents[names[-1]] = names[1:-1]
    return {n: (_seconds(rng, mean), parents[n]) for n in names}


def layers(tasks, mean, seed, width=10):
    """Layers, each task with one to three parents in the layer before."""
    rng = random.Random(f"layers-{seed}")
    made = {}
    above = []
    for first in range(0, tasks, width):
        layer = [f"t{k}" for k in range(first, min(first + width, tasks))]
        for name in layer:
            few = rng.sample(above, min(len(above), rng.randint(1, 3))) if above else []
            made[name] = (_seconds(rng, mean), few)
        above = layer
    return made


def tree(tasks, mean, seed):
    """Chains of two that are joined in pairs until one is left."""
    rng = random.Random(f"tree-{seed}")
    made = {}
    leaves = (tasks + 1) // 3
    open_ends = []
    for _ in range(leaves):
        first, second = f"t{len(made)}", f"t{len(made) + 1}"
        made[first] = (_seconds(rng, mean), [])
        made[second] = (_seconds(rng, mean), [first])
        open_ends.append(second)
    while len(open_ends) > 1:
        name = f"t{len(made)}"
        made[name] = (_seconds(rng, mean), [open_ends.pop(0), open_ends.pop(0)])
        open_ends.append(name)
    return made


def random_graph(tasks, mean, seed):
    """Each task has up to two parents among all before it; a few take very long."""
    rng = random.Random(f"random-{seed}")
    made = {}
    for k in range(tasks):
        few = rng.sample(range(k), min(k, rng.choice([0, 0, 1, 1, 2])))
        seconds = mean * rng.lognormvariate(-0.72, 1.2)
        made[f"t{k}"] = (round(min(seconds, 8 * mean), 3), [f"t{p}" for p in sorted(few)])
    return made


SHAPES = {"fan": fan, "layers": layers, "tree": tree}


def toml(graph, name, slackline):
    """Workflow TOML whose tasks sleep and write one file each."""
    lines = [f'name = "{name}"', "\n[files]"]
    lines += [f'"{task}.out" = "1kB"' for task in graph]
    for task, (seconds, parents) in graph.items():
        words = [slackline, "burn", "--sleep", str(seconds)]
        for parent in parents:
            words += ["--in", f"{parent}.out"]
        words += ["--out", f"{task}.out:1000"]
        inputs = ", ".join(f'"{parent}.out"' for parent in parents)
        lines.append(
            f'\n[task.{task}]\ncommand = "{" ".join(words)}"\ninputs = [{inputs}]\n'
            f'outputs = ["{task}.out"]\ntime = "{seconds}s"'
        )
    return "\n".join(lines) + "\n"

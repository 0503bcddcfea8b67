"""Processor seconds of AccaSim for a log in the Standard Workload Format on nodes of one size:

    drive_accasim.py LOG CORES fcfs|easy|sjf NODES
"""

import collections
import collections.abc
import json
import os
import resource
import sys
import tempfile

# AccaSim 1.1.3 looks for these where they were before Python 3.10.
for name in ("Mapping", "MutableMapping", "Iterable", "Callable"):
    if not hasattr(collections, name):
        setattr(collections, name, getattr(collections.abc, name))

from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut, ShortestJobFirst
from accasim.base.simulator_class import Simulator

SCHEDULERS = {"fcfs": FirstInFirstOut, "sjf": ShortestJobFirst, "easy": EASYBackfilling}


def seconds():
    return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])


log, cores, policy, nodes = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    system = {
        "groups": {"g": {"core": cores // nodes}},
        "resources": {"g": nodes},
        "start_time": 0,
        "equivalence": {"processor": {"core": 1}},
    }
    with open("system.json", "w") as file:
        json.dump(system, file)
    before = seconds()
    quiet = dict.fromkeys(
        ("scheduling_output", "pprint_output", "benchmark_output", "statistics_output", "show_statistics"), False
    )
    Simulator(log, "system.json", SCHEDULERS[policy](FirstFit()), RESULTS_FOLDER_NAME="out", **quiet).start_simulation()
    print(f"AccaSim {policy} on {nodes} nodes: {seconds() - before:.2f} s")
    os.chdir("/")

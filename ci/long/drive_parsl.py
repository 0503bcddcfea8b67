"""Runs a graph of sleeping tasks with Parsl: GRAPH.json WORKERS FOLDER. The task $FLAKY fails once."""

import json
import os
import sys
import time
from pathlib import Path

import parsl
from parsl import python_app
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.monitoring import MonitoringHub
from parsl.providers import LocalProvider


@python_app
def work(seconds, marker, *_):
    import os.path
    import time as clock

    clock.sleep(seconds)
    if marker and not os.path.exists(marker):
        open(marker, "w").close()
        raise RuntimeError("fails once")
    return 0


def main():
    graph = json.loads(Path(sys.argv[1]).read_text())
    workers, folder = int(sys.argv[2]), sys.argv[3]
    os.chdir(folder)
    executor = HighThroughputExecutor(
        label="workers",
        address="127.0.0.1",
        cores_per_worker=0.1,
        max_workers_per_node=workers,
        provider=LocalProvider(init_blocks=1, max_blocks=1),
    )
    hub = MonitoringHub(hub_address="127.0.0.1", resource_monitoring_interval=1)
    flaky = os.environ.get("FLAKY")
    retries = 1 if flaky else 0
    parsl.load(Config(executors=[executor], monitoring=hub, run_dir="runinfo", retries=retries))
    begun = time.time()
    futures = {}
    for name, (seconds, parents) in graph.items():
        marker = os.path.abspath("failed-once") if name == flaky else None
        futures[name] = work(seconds, marker, *[futures[parent] for parent in parents])
    for future in futures.values():
        future.result()
    print(time.time() - begun)
    parsl.dfk().cleanup()


if __name__ == "__main__":
    main()

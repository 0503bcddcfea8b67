"""Runs a graph of sleeping tasks with Dask: GRAPH.json WORKERS FOLDER. The task $FLAKY fails once."""

import json
import os
import sys
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster, get_task_stream, wait


def work(seconds, marker, *_):
    time.sleep(seconds)
    if marker and not os.path.exists(marker):
        Path(marker).touch()
        raise RuntimeError("fails once")
    return b"0" * 1000


def main():
    graph = json.loads(Path(sys.argv[1]).read_text())
    workers, folder = int(sys.argv[2]), Path(sys.argv[3])
    flaky = os.environ.get("FLAKY")
    tasks = {
        name: (work, seconds, str(folder / "failed-once") if name == flaky else None, *parents)
        for name, (seconds, parents) in graph.items()
    }
    edges = {name: parents for name, (_, parents) in graph.items()}
    used = {parent for _, parents in graph.values() for parent in parents}
    ends = [name for name in graph if name not in used]
    (folder / "graph.json").write_text(json.dumps(edges))
    with LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, processes=True
    ) as cluster, Client(cluster) as client:
        client.wait_for_workers(workers)
        begun = time.time()
        with get_task_stream(filename=None) as stream:
            if flaky:
                # Of what its scheduler repeats by itself (`retries`) Dask leaves no record.
                futures = client.get(tasks, list(graph), optimize_graph=False, sync=False)
                wait(futures)
                client.retry([future for future in futures if future.status == "error"])
                client.gather(futures)
            else:
                client.get(tasks, ends, optimize_graph=False)
        seconds = time.time() - begun

        def plain(value):
            try:
                json.dumps(value)
            except TypeError:
                return str(value)
            return value

        records = [{key: plain(value) for key, value in r.items()} for r in stream.data]
        (folder / "task-stream.json").write_text(json.dumps(records))

        def about(dask_scheduler):
            return {
                "task_prefixes": {},
                "bandwidth_workers": {},
                "workers": {
                    address: {"nthreads": w.nthreads, "memory_limit": w.memory_limit}
                    for address, w in dask_scheduler.workers.items()
                },
            }

        (folder / "scheduler.json").write_text(json.dumps(client.run_on_scheduler(about)))
    print(seconds)


if __name__ == "__main__":
    main()

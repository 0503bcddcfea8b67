"""Times one decision of Snakemake's schedulers and of the plug-in at 10,000 ready jobs."""

import logging
import sys
import time
import types

from snakemake_interface_scheduler_plugins.registry import SchedulerPluginRegistry

JOBS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
CORES = 64


class Job:
    """What schedulers see of a job."""

    def __init__(self, number):
        self.number = number
        self.priority = 0
        self.scheduler_resources = {"_cores": 1 + number % 3, "_nodes": 1, "_job_count": 1}
        self.input, self.output, self.log, self.benchmark = [], [f"{number}.out"], [], None
        self.rule = f"rule{number % 7}"

    def add_aux_resource(self, name, value):
        self.scheduler_resources[name] = value


class Dag:
    """Half the jobs are ready, each of the others waits for two of them."""

    def __init__(self, ready, others):
        self.ready, self.others = ready, others

    def needrun_jobs(self):
        return iter(self.ready + self.others)

    def job_dependencies(self, job):
        if job.number < len(self.ready):
            return []
        return [self.ready[job.number % len(self.ready)], self.ready[job.number * 7 % len(self.ready)]]

    def finished(self, _):
        return False


def main():
    ready = [Job(number) for number in range(JOBS)]
    others = [Job(JOBS + number) for number in range(JOBS)]
    dag = Dag(ready, others)
    registry = SchedulerPluginRegistry()
    registry.collect_plugins()
    for name in ("greedy", "ilp", "slackline"):
        try:
            plugin = registry.get_plugin(name)
            settings = plugin.settings_cls() if plugin.settings_cls else types.SimpleNamespace()
            scheduler = plugin.scheduler(dag, settings, logging.getLogger("decision"))
            # Every decision but the first finds the order made.
            times = []
            for _ in range(4 if name != "ilp" else 1):
                free = {"_cores": CORES, "_nodes": sys.maxsize, "_job_count": sys.maxsize}
                begun = time.perf_counter()
                chosen = scheduler.select_jobs(ready, ready + others, free, {})
                times.append(time.perf_counter() - begun)
            held = sum(job.scheduler_resources["_cores"] for job in chosen or [])
            first = f", the first {1000 * times[0]:.0f} ms" if len(times) > 1 else ""
            print(f"{name}: {1000 * min(times[1:] or times):.1f} ms at {JOBS} ready jobs{first}; {held} of {CORES} cores")
        except Exception as error:  # a scheduler of another version is not ours to mend
            print(f"{name}: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()

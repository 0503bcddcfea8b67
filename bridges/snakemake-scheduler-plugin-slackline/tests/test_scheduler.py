"""The plug-in on jobs that are made up here: python -m unittest discover -s tests"""

import base64
import json
import logging
import tempfile
import unittest
from pathlib import Path

from snakemake_scheduler_plugin_slackline import Scheduler, SchedulerSettings
from snakemake_scheduler_plugin_slackline.history import History, benchmarked, decoded
from snakemake_scheduler_plugin_slackline.order import by_planner, upward_ranks


class Job:
    def __init__(self, name, cores=1, priority=0, parents=(), **resources):
        self.name, self.priority, self.parents = name, priority, list(parents)
        self.scheduler_resources = {"_cores": cores, "_nodes": 1, "_job_count": 1, **resources}
        self.input, self.output, self.log, self.benchmark = [], [f"{name}.out"], [], None
        self.rule = name.rstrip("0123456789")


class Dag:
    def __init__(self, jobs):
        self.jobs = jobs

    def needrun_jobs(self):
        return iter(self.jobs)

    def job_dependencies(self, job):
        return job.parents

    def finished(self, _):
        return False


def scheduler(jobs, seconds=None):
    made = Scheduler(Dag(jobs), SchedulerSettings(), logging.getLogger("test"))
    made._history = type("Known", (), {"seconds": lambda _, job: (seconds or {}).get(job.name, 1.0)})()
    return made


def names(jobs):
    return [job.name for job in jobs]


class Selection(unittest.TestCase):
    def test_the_longest_chain_goes_first(self):
        short, long = Job("short"), Job("long")
        last = Job("last", parents=[long])
        made = scheduler([short, long, last], {"short": 5, "long": 1, "last": 9})
        free = {"_cores": 1}
        self.assertEqual(names(made.select_jobs([short, long], [short, long, last], free, {})), ["long"])

    def test_resources_hold_and_smaller_jobs_fill_up(self):
        wide, one, two = Job("wide", cores=3), Job("one", mem_mb=600), Job("two", mem_mb=600)
        made = scheduler([wide, one, two], {"wide": 9, "one": 5, "two": 1})
        free = {"_cores": 2, "mem_mb": 1000, "_nodes": 2**63 - 1}
        self.assertEqual(names(made.select_jobs([two, one, wide], [], free, {})), ["one"])
        self.assertEqual(made.select_jobs([one], [], {"_cores": 4, "_job_count": 0}, {}), [])

    def test_priorities_go_before_ranks(self):
        first, second = Job("first", priority=1), Job("second")
        made = scheduler([first, second], {"second": 100})
        self.assertEqual(names(made.select_jobs([second, first], [], {"_cores": 1}, {})), ["first"])

    def test_jobs_of_a_checkpoint_are_ranked_with_the_others(self):
        first, second = Job("first"), Job("second")
        dag = [first, second]
        made = scheduler(dag, {"first": 3, "second": 2, "behind": 50})
        self.assertEqual(names(made.select_jobs([first, second], [], {"_cores": 1}, {})), ["first"])
        fresh = Job("fresh")
        dag += [fresh, Job("behind", parents=[second])]
        found = made.select_jobs([first, second, fresh], [], {"_cores": 1}, {})
        self.assertEqual(names(found), ["second"])

    def test_a_group_is_as_urgent_as_its_first_member(self):
        one, two, other = Job("one"), Job("two"), Job("other")
        group = Job("group", cores=2)
        group.jobs = [one, two]
        made = scheduler([one, two, other], {"one": 1, "two": 9, "other": 5})
        self.assertEqual(names(made.select_jobs([other, group], [], {"_cores": 2}, {})), ["group"])


class Records(unittest.TestCase):
    def test_metadata_and_benchmarks(self):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            long = "results/" + "x" * 300
            code = base64.urlsafe_b64encode(long.encode()).decode()
            records = {"map1.out": ("map", 4.0), "map2.out": ("map", 8.0), long: ("map", 3.0)}
            for output, (rule, seconds) in records.items():
                name = base64.urlsafe_b64encode(output.encode()).decode()
                path = place / name if output != long else place / f"@{code[:200]}" / code[200:]
                path.parent.mkdir(exist_ok=True)
                record = {"rule": rule, "starttime": 10.0, "endtime": 10.0 + seconds, "incomplete": False}
                path.write_text(json.dumps(record))
            (place / "broken").write_text("{")
            known = History(folder=place)
            self.assertEqual(known.seconds(Job("map2")), 8.0)
            self.assertEqual(known.seconds(Job("map7")), 5.0)
            self.assertEqual(known.seconds(Job("reduce")), 1.0)
            bench = place / "b.tsv"
            bench.write_text("s\th:m:s\n1.5\t0:00:01\n2.0\t0:00:02\n")
            self.assertEqual(benchmarked(str(bench)), 3.5)
            self.assertIsNone(benchmarked(str(place / "none.tsv")))
        self.assertIsNone(decoded("not base64!"))

    def test_ranks(self):
        self.assertEqual(upward_ranks([[], [0], [0], [1, 2]], [1, 5, 2, 1]), [7.0, 6.0, 3.0, 1.0])

    def test_without_the_command_jobs_are_ranked(self):
        quiet = logging.getLogger("quiet")
        quiet.disabled = True
        self.assertIsNone(by_planner("heft", "no-such-command", [Job("a")], [[]], [1.0], 2, quiet))


if __name__ == "__main__":
    unittest.main()

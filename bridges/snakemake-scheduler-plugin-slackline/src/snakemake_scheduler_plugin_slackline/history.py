"""Run times of earlier runs: records of the working folder by output file, and benchmarks."""

import base64
import json
import os
from pathlib import Path
from typing import Dict, Iterable, List, Optional, Tuple

#: Seconds of a job of which nothing is known.
UNKNOWN = 1.0
#: Records that are read at most to learn the means of rules.
MOST_RECORDS = 100_000


class History:
    """Seconds of jobs, from the records under a folder."""

    def __init__(self, logger=None, folder: Path = Path(".snakemake/metadata")) -> None:
        self._by_output: Dict[str, float] = {}
        self._sums: Dict[str, Tuple[float, int]] = {}
        self._read(folder)
        if logger is not None and self._by_output:
            rules = len(self._sums)
            logger.debug(f"run times of {len(self._by_output)} files and {rules} rules are known")

    def _read(self, folder: Path) -> None:
        for number, (name, path) in enumerate(records(folder)):
            if number >= MOST_RECORDS:
                return
            try:
                record = json.loads(path.read_bytes())
                seconds = float(record["endtime"]) - float(record["starttime"])
            except (OSError, ValueError, KeyError, TypeError):
                continue
            if record.get("incomplete") or not seconds >= 0.0:
                continue
            self._by_output[name] = seconds
            rule = record.get("rule")
            if isinstance(rule, str):
                total, count = self._sums.get(rule, (0.0, 0))
                self._sums[rule] = (total + seconds, count + 1)

    def seconds(self, job) -> float:
        """Seconds of the same job in an earlier run, else the mean of its rule."""
        for output in job.output:
            known = self._by_output.get(str(output))
            if known is not None:
                return known
        benchmark = getattr(job, "benchmark", None)
        known = benchmarked(str(benchmark)) if benchmark else None
        if known is not None:
            return known
        rule = str(getattr(job, "rule", ""))
        total, count = self._sums.get(rule, (0.0, 0))
        return total / count if count else UNKNOWN


def records(folder: Path) -> Iterable[Tuple[str, Path]]:
    """Output files and their records: the names are base64, long ones cut into folders that begin with @."""
    pending: List[Tuple[str, Path]] = [("", folder)]
    while pending:
        prefix, place = pending.pop()
        try:
            entries = sorted(os.scandir(place), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name.startswith("@"):
                    pending.append((prefix + entry.name[1:], Path(entry.path)))
                continue
            name = decoded(prefix + entry.name)
            if name is not None:
                yield name, Path(entry.path)


def decoded(name: str) -> Optional[str]:
    """The path that a record's name stands for; both alphabets of base64 are in use."""
    try:
        plain = name.replace("-", "+").replace("_", "/")
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode()
    except (ValueError, UnicodeDecodeError):
        return None


def benchmarked(path: str) -> Optional[float]:
    """Seconds of a benchmark file, tab-separated or JSON lines: repetitions follow each other in the same job."""
    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    total = None
    try:
        if path.endswith(".jsonl"):
            values = [float(json.loads(line)["s"]) for line in lines if line.strip()]
        else:
            column = lines[0].split("\t").index("s")
            values = [float(line.split("\t")[column]) for line in lines[1:] if line.strip()]
        total = sum(values) if values else None
    except (IndexError, KeyError, TypeError, ValueError):
        return None
    return total

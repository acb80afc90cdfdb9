"""Times of all-reduces in a lab: kept as lines of a file, and their medians. See netlab_schedules."""

import collections
import csv
import dataclasses
import os
import statistics


@dataclasses.dataclass(frozen=True, order=True)
class Case:
    """What was measured: a lab, a schedule, a size."""
    hosts: int
    ranks_per_host: int
    mbit: float  # of a link
    codec: str
    bytes: int
    schedule: str

    def of_schedule(self, schedule):
        return dataclasses.replace(self, schedule=schedule)


FIELDS = [field.name for field in dataclasses.fields(Case)] + ["us"]
CONVERSIONS = [int, int, float, str, int, str, float]


class Records:
    """Samples by Case. What is added is also appended to `path`, where there is one."""

    def __init__(self, path):
        self.path = path
        self.samples = collections.defaultdict(list)
        if path and os.path.exists(path):
            self.read()

    def read(self):
        """Raises ValueError with file and line."""
        with open(self.path, encoding="ascii", newline="") as file:
            rows = csv.reader(line for line in file if not line.startswith("#"))
            for number, row in enumerate(rows, 1):
                if number == 1 and row == FIELDS:
                    continue
                try:
                    *case, us = [convert(text) for convert, text
                                 in zip(CONVERSIONS, row, strict=True)]
                except ValueError as error:
                    raise ValueError(f"{self.path}: record {number}: {error}") from None
                self.samples[Case(*case)].append(us)

    def add(self, case, us):
        self.samples[case].append(us)
        if not self.path:
            return
        fresh = not os.path.exists(self.path)
        with open(self.path, "a", encoding="ascii", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if fresh:
                writer.writerow(FIELDS)
            writer.writerow([*dataclasses.astuple(case), f"{us:.2f}"])

    def median(self, case):
        """In microseconds; None where nothing was measured."""
        samples = self.samples.get(case)
        return statistics.median(samples) if samples else None

    def labs(self):
        """(hosts, ranks a host, Mbit/s, codec), ascending."""
        return sorted({(c.hosts, c.ranks_per_host, c.mbit, c.codec) for c in self.samples})

    def cases(self, lab):
        return sorted(c for c in self.samples
                      if (c.hosts, c.ranks_per_host, c.mbit, c.codec) == lab)

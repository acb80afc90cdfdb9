"""16 ranks in a lab, as a grid of hosts and as hosts of ranks: right sums, equal bits, bytes, steps.

Run: schedules_test.py FOLDER-OF-PROGRAMS PLUGIN
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PLUGIN = sys.argv.pop()
PROGRAMS = pathlib.Path(sys.argv.pop())
HANG_S = 150
BYTES = 1 << 20
ITERATIONS = (2, 10)
# What may come on top of the messages: frames of Thinwire; of Ethernet, IP and TCP, and what those
# acknowledge.
FRAMES, HEADERS = 1.01, 1.09


def output_of(*command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=HANG_S, check=False)


class Lab:
    """One shape of a lab; `reduce` runs an all-reduce in it."""

    def __init__(self, folder, hosts, ranks, **settings):
        self.folder = pathlib.Path(folder)
        self.hosts, self.ranks = hosts, ranks
        self.settings = [f"{name}={value}" for name, value in settings.items()]

    def reduce(self, iterations):
        """The report's row, and what each host's interface has sent, by host."""
        report = self.folder / f"{iterations}.json"
        # Deep queues: nothing is lost, and so nothing sent twice.
        done = output_of(
            PROGRAMS / "netlab", "--quiet", "--hosts", self.hosts, "--ranks-per-host", self.ranks,
            "--queue-ms", 400, "--output", "prefix", "--timeout", HANG_S - 20, "--", "env",
            *self.settings, "sh", "-c",
            '"$@" || exit $?; [ "$LOCAL_RANK" != 0 ] || '
            'sed -n "s/^ *eth0:/$NCCL_HOSTID sent /p" /proc/net/dev',
            "sh", PROGRAMS / "all_reduce_perf", "--plugin", PLUGIN, "-b", BYTES, "-e", BYTES,
            "-n", iterations, "-w", 1, "-c", 1, "--registered", "-J", report)
        if done.returncode != 0:
            raise AssertionError(f"status {done.returncode}: {done.stdout[-4000:]}")
        counts = re.findall(r"netlab-host(\d+) sent((?: +\d+)+)", done.stdout)
        sent = {int(host): int(numbers.split()[8]) for host, numbers in counts}
        return json.loads(report.read_text("utf-8"))["results"][0], sent


class SixteenRanks(unittest.TestCase):
    def reduce(self, lab):
        """Checks what holds of every run. (Bytes a rank sent by the plugin's count, the most that a
        host sent by its interface's), each of one all-reduce."""
        few, many = (lab.reduce(iterations) for iterations in ITERATIONS)
        for row, sent in (few, many):
            self.assertEqual(len(sent), lab.hosts)
            for way in ("out_of_place", "in_place"):
                self.assertEqual(row[way]["nwrong"], 0, row)
                self.assertIs(row[way]["hashes_equal"], True, row)
        self.hashes.add(few[0]["out_of_place"]["output_hash"])
        self.hashes.add(many[0]["out_of_place"]["output_hash"])
        # Out of place and in place.
        calls = 2 * (ITERATIONS[1] - ITERATIONS[0])
        hosts = [(many[1][host] - few[1][host]) / calls for host in range(lab.hosts)]
        return many[0]["out_of_place"]["bytes_sent_per_rank"], max(hosts)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.hashes = set()

    def test_Hierarchical_FourHostsOfFour_SendsTwiceThreeQuartersAHost(self):
        rank, host = self.reduce(Lab(self.folder, 4, 4, THINWIRE_SCHEDULE="hierarchical"))
        allowed = 2 * 3 / 4 * BYTES
        self.assertLessEqual(4 * rank, allowed * FRAMES)
        self.assertLessEqual(host, allowed * HEADERS)
        self.assertGreaterEqual(4 * rank, allowed)  # no sum without them
        self.assertEqual(len(self.hashes), 1)

    def test_Grid_FourByFour_SendsWhatARingDoesInTwelveSteps(self):
        rank, host = self.reduce(Lab(self.folder, 16, 1, THINWIRE_SCHEDULE="grid",
                                     THINWIRE_GRID="4x4"))
        allowed = 2 * 15 / 16 * BYTES
        self.assertLessEqual(rank, allowed * FRAMES)
        self.assertLessEqual(host, allowed * HEADERS)
        self.assertGreaterEqual(rank, allowed)
        self.assertEqual(len(self.hashes), 1)

    def test_Grid_OfSixteen_HasAsManyStepsAsItsSidesHave(self):
        for rows, columns in ((4, 4), (2, 8), (1, 16)):
            drawn = output_of(PROGRAMS / "thinwire", "plan", "--ranks", 16, "--schedule", "grid",
                              "--grid", f"{rows}x{columns}", "--svg", "-")
            rounds = {int(number) for number in re.findall(r"<title>round (\d+):", drawn.stdout)}
            steps = 2 * (rows - 1) + 2 * (columns - 1)
            self.assertEqual(rounds, set(range(1, steps + 1)), drawn.stdout[:400])


if __name__ == "__main__":
    check = output_of(PROGRAMS / "netlab", "--check")
    if check.returncode == 77:
        print("everything skipped:", check.stdout.strip())
        sys.exit(77)
    unittest.main(verbosity=2)

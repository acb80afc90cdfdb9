"""thinwire plan, sim and calibrate as a user runs them. Run: model_commands_test.py THINWIRE."""

import csv
import io
import os
import socket
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

PROGRAM = sys.argv.pop()
SVG = "{http://www.w3.org/2000/svg}"
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, env=ENVIRONMENT,
                          timeout=120, check=False)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class ModelCommand(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        return path

    def good(self, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def refused(self, words, *arguments):
        done = run(*arguments)
        self.assertIn(done.returncode, (1, 2), arguments)
        for word in words:
            self.assertIn(word, done.stdout + done.stderr, arguments)


class Plan(ModelCommand):
    def draw(self, *arguments):
        path = self.path("plan.svg")
        self.good("plan", *arguments, "--svg", path)
        with open(path, "rb") as file:
            return file.read()

    def edges(self, *arguments):
        root = xml.fromstring(self.draw(*arguments))
        self.assertEqual(root.tag, SVG + "svg")
        return [line.find(SVG + "title").text for line in root.iter(SVG + "line")]

    def test_it_takes_the_fastest_and_says_why(self):
        text = self.good("plan", "--ranks", "16", "--hosts", "4", "--size", "64M")
        rows = [line for line in text.splitlines() if " ms " in line and "auto takes" not in line]
        times = [float(line[20:].split()[0]) for line in rows]
        self.assertEqual(len(rows), 8)
        self.assertEqual(times, sorted(times))
        taken = [line for line in rows if "<- taken" in line]
        self.assertEqual(len(taken), 1)
        allowed = [line for line in rows if "not by auto" not in line]
        self.assertEqual(taken[0], allowed[0])
        self.assertIn("auto takes " + taken[0][:20].strip(), text)

    def test_the_drawing_has_an_edge_for_every_message(self):
        for schedule, ranks, messages in (("ring", 5, 2 * 4 * 5), ("direct", 6, 2 * 5 * 6),
                                          ("exchange", 3, 3 * 2 * 3), ("grid", 4, 4 * 3 * 2)):
            edges = self.edges("--ranks", str(ranks), "--schedule", schedule)
            self.assertEqual(len(edges), messages, schedule)
            self.assertEqual(len(set(edges)), messages, schedule)

    def test_the_drawing_shows_each_round_of_a_ring(self):
        edges = self.edges("--ranks", "4", "--schedule", "ring")
        for number in range(1, 7):
            self.assertEqual(sum(f"round {number}:" in edge for edge in edges), 4)
        self.assertIn("round 1: rank 0 sends piece", " ".join(edges))

    def test_the_drawing_is_the_same_every_time(self):
        arguments = ("--ranks", "16", "--hosts", "4", "--racks", "2")
        self.assertEqual(self.draw(*arguments), self.draw(*arguments))

    def test_the_steps_of_a_rank_are_printed(self):
        text = self.good("plan", "--ranks", "4", "--schedule", "ring", "--rank", "2")
        self.assertEqual(text.count("send"), 6)
        self.assertEqual(text.count("receive"), 6)

    def test_a_grid_is_weighed_as_it_is(self):
        def steps(sides):
            text = self.good("plan", "--ranks", "64", "--schedule", "grid", "--grid", sides)
            line = next(line for line in text.splitlines() if line.startswith("grid"))
            return int(line.split()[3])
        self.assertEqual(steps("8x8"), 28)
        self.assertEqual(steps("2x32"), 64)
        self.assertEqual(steps("4x4x4"), 18)

    def test_a_compressed_sum_is_never_given_a_ring(self):
        text = self.good("plan", "--ranks", "16", "--size", "256M", "--codec", "int8")
        self.assertRegex(text, r"ring .*not by auto: rounds at every step")
        self.assertRegex(text, r"auto takes direct")

    def test_fp16_is_given_a_ring_of_few_ranks(self):
        for ranks, schedule in ("8", "ring"), ("9", "direct"):
            text = self.good("plan", "--ranks", ranks, "--size", "256M", "--codec", "fp16")
            self.assertIn("auto takes " + schedule, text)
        mixed = self.good("plan", "--ranks", "4", "--size", "256M", "--codec", "int8@host,fp16")
        self.assertIn("auto takes direct", mixed)

    def test_wrong_arguments_are_named(self):
        for words, arguments in (
                (("--ranks", "2 to 4096"), ("--ranks", "1")),
                (("--ranks", "2 to 4096"), ("--ranks", "4097")),
                (("--ranks",), ("--ranks", "x")),
                (("--hosts",), ("--ranks", "16", "--hosts", "3")),
                (("--hosts",), ("--ranks", "16", "--hosts", "-4")),
                (("--racks",), ("--ranks", "16", "--hosts", "4", "--racks", "3")),
                (("--size",), ("--size", "0")), (("--size",), ("--size", "64X")),
                (("--piece", "1K to 1G"), ("--piece", "1")),
                (("--schedule spiral", "hierarchical grid"), ("--schedule", "spiral")),
                (("--rank",), ("--rank", "16")),
                (("--svg", "64 ranks"), ("--ranks", "65", "--svg", "x.svg")),
                (("int9",), ("--codec", "int9")),
                (("--grid",), ("--schedule", "grid", "--grid", "3x3")),
                (("--grid",), ("--schedule", "grid", "--grid", "0x16")),
                (("/nonexistent/x.svg",), ("--svg", "/nonexistent/x.svg"))):
            self.refused(words, "plan", *arguments)

    def test_wrong_tuning_files_are_refused(self):
        for text, words in (("rack.latency_us\n", (":1:", "NAME=value")),
                            ("\nrack.speed=1\n", (":2:", "unknown name rack.speed")),
                            ("fan_in=0\n", (":1:", "fan_in=0", "1e-6 to 1e6")),
                            ("fan_in=1\nfan_in=1\n", (":2:", "twice")),
                            ("fan_in=inf\n", (":1:", "fan_in=inf")),
                            ("\x01\x02\x03", (":1:",))):
            path = self.path("tuning", text)
            self.refused(("--tuning-file", path, *words), "plan", "--tuning-file", path)
        for path in ("/nonexistent/tuning", self.folder.name, "/dev/zero"):
            self.refused(("--tuning-file", path), "plan", "--tuning-file", path)


class Simulation(ModelCommand):
    def rows(self, *arguments):
        return list(csv.DictReader(io.StringIO(self.good("sim", "--csv", *arguments))))

    def test_a_ring_takes_what_the_formula_says(self):
        row, = self.rows("--ranks", "8", "--schedule", "ring", "--size", "512K", "--gbit", "8",
                         "--latency-us", "10", "--message-us", "0", "--reduce-gbytes", "1000000",
                         "--piece", "128K")
        expected_ms = 14 * (65536 / 1e9 + 10e-6) * 1e3
        self.assertAlmostEqual(float(row["ms"]), expected_ms, delta=0.002 * expected_ms)
        self.assertEqual(int(row["messages"]), 14 * 8)
        self.assertAlmostEqual(float(row["mbytes_host_out"]), 14 * 0.065536, places=2)

    def test_every_schedule_is_there_once_and_one_is_taken(self):
        rows = self.rows("--ranks", "16", "--hosts", "4", "--size", "1M")
        names = [row["schedule"] for row in rows]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual({name.split()[0].split(":")[0].split("-")[0] for name in names} &
                         {"ring", "direct", "tree"}, {"ring", "direct", "tree"})
        self.assertEqual([row["auto"] for row in rows].count("1"), 1)

    def test_it_is_the_same_every_time(self):
        arguments = ("sim", "--ranks", "12", "--hosts", "4", "--size", "3M", "--csv")
        self.assertEqual(self.good(*arguments), self.good(*arguments))

    def test_wrong_arguments_are_named(self):
        for words, arguments in (
                (("--ranks", "2 to 4096"), ("--ranks", "1")),
                (("--hosts",), ("--ranks", "16", "--hosts", "5")),
                (("--racks",), ("--ranks", "16", "--racks", "3")),
                (("rails",), ("--rails", "0")), (("rates",), ("--gbit", "0")),
                (("rates",), ("--gbit", "-1")), (("latencies",), ("--latency-us", "-1")),
                (("oversubscription",), ("--oversubscription", "0")),
                (("fan-in",), ("--fan-in", "0.5")),
                (("--size",), ("--size", "0")), (("--piece",), ("--piece", "1")),
                (("--wire-bytes",), ("--wire-bytes", "5")),
                (("--wire-bytes",), ("--wire-bytes", "0")),
                (("--codec int9",), ("--codec", "int9")),
                (("--schedule",), ("--schedule", "spiral")),
                (("--grid",), ("--grid", "3x3")),
                (("--gbit",), ("--gbit", "fast"))):
            self.refused(words, "sim", *arguments)

    def test_too_much_work_is_refused_with_what_is_accepted(self):
        for arguments, words in (
                (("--ranks", "4096", "--schedule", "direct", "--size", "1T"),
                 ("direct: ", "steps to run on 1 ranks", "--size up to", "G in pieces of")),
                (("--ranks", "16", "--schedule", "ring", "--size", "1T", "--piece", "1K"),
                 ("ring: ", "accepted: up to 6.71e+07", "--size up to", "in pieces of 1024 bytes")),
                (("--ranks", "4096", "--schedule", "direct", "--cyclic", "--hosts", "512"),
                 ("direct: ", "more than 2^25 steps", "accepted: fewer ranks"))):
            self.refused(words, "sim", *arguments)


class Calibration(ModelCommand):
    def constants(self, path):
        with open(path, encoding="ascii") as file:
            lines = [line for line in file.read().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in (line.split("=") for line in lines)}

    def test_its_file_is_accepted_by_plan(self):
        path = self.path("tuning")
        self.good("calibrate", "--output", path)
        constants = self.constants(path)
        self.assertEqual(len(constants), 24)
        self.assertTrue(all(value > 0 for value in constants.values()))
        built_in = self.good("plan", "--ranks", "8")
        tuned = self.good("plan", "--ranks", "8", "--tuning-file", path)
        self.assertNotEqual(built_in.split("hash ")[1][:16], tuned.split("hash ")[1][:16])

    def test_two_of_them_measure_the_link_between_them(self):
        port = str(free_port())
        with subprocess.Popen([PROGRAM, "calibrate", "--listen", port], env=ENVIRONMENT) as other:
            self.addCleanup(other.kill)
            path = self.path("tuning")
            for _ in range(600):  # until the other one listens
                done = run("calibrate", "--connect", "127.0.0.1:" + port, "--output", path)
                if done.returncode == 0 or other.poll() is not None:
                    break
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(other.wait(60), 0)
        constants = self.constants(path)
        self.assertEqual(constants["rack.latency_us"], constants["site.latency_us"])
        with open(path, encoding="ascii") as file:
            self.assertIn("# Measured to 127.0.0.1:" + port, file.read())

    def test_wrong_arguments_are_named(self):
        for words, arguments in ((("--listen", "65535"), ("--listen", "70000")),
                                 (("--listen",), ("--listen", "-1")),
                                 (("--connect", "ADDRESS:PORT"), ("--connect", "nowhere")),
                                 (("--connect", "ADDRESS:PORT"), ("--connect", ":1")),
                                 (("host.invalid:1",), ("--connect", "host.invalid:1")),
                                 (("/nonexistent/t",), ("--output", "/nonexistent/t"))):
            self.refused(words, "calibrate", *arguments)


if __name__ == "__main__":
    unittest.main()

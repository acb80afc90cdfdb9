#!/usr/bin/python3
"""The demo in small: it runs to its end, in a lab and without one, and writes what it promises."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

DEMO, BUILD = sys.argv.pop(1), sys.argv.pop(1)
HANG_S = 200
SMALL = ["--build-dir", BUILD, "--size=256K", "--rounds=1", "--iterations=1", "--epochs=2"]


def demo(*options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "figures.json")
        done = subprocess.run([DEMO, *SMALL, "--json", str(path), *options], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=HANG_S,
                              check=False)
        if done.returncode != 0:
            raise AssertionError(f"status {done.returncode}:\n{done.stdout}")
        return done.stdout, json.loads(path.read_text("utf-8"))


class DemoTest(unittest.TestCase):
    def check_figures(self, figures):
        self.assertGreater(figures["exact"]["wire_fraction"], 0)
        self.assertGreater(figures["fp16"]["speedup"], 0)
        self.assertGreater(figures["int8"]["speedup"], 0)
        self.assertGreater(figures["int8"]["max_rel_error"], 0)
        self.assertLess(figures["int8"]["bytes_sent_per_rank"],
                        0.35 * figures["exact"]["bytes_sent_per_rank"])
        self.assertEqual(figures["exact"]["max_rel_error"], 0)
        self.assertIs(figures["hashes_equal"], True)
        self.assertGreater(figures["trainer"]["exact"]["accuracy"], 0.7)
        self.assertGreater(figures["trainer"]["int8"]["accuracy"], 0.7)
        self.assertIs(figures["trainer"]["weights_equal"], True)

    def test_Loopback_TwoRanks_WritesTheFigures(self):
        text, figures = demo("--loopback", "--hosts=2")
        self.check_figures(figures)
        self.assertIs(figures["shaped_links"], False)
        self.assertIn("The speeds are not judged", text)

    def test_Lab_ThreeHosts_WritesTheFigures(self):
        netlab = subprocess.run([f"{BUILD}/bin/netlab", "--check"], capture_output=True, text=True,
                                check=False)
        if netlab.returncode == 77:
            self.skipTest(netlab.stderr.strip())
        text, figures = demo("--hosts=3", "--rate=500mbit")
        self.check_figures(figures)
        self.assertIs(figures["shaped_links"], True)
        self.assertIn("exact all-reduce, share of the wire limit, at least 95.0%", text)

    def test_Program_Missing_IsSaid(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([DEMO, "--build-dir", folder], capture_output=True, text=True,
                                  check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("lacks netlab, wire_probe, all_reduce_perf, trainer", done.stderr)

    def test_Arguments_NotAcceptable_AreSaidAtOnce(self):
        for options, text in ((["--json", "/nonexistent/figures.json"], "--json /nonexistent/"),
                              (["--json", "/tmp"], "--json /tmp cannot be written"),
                              (["--size=many"], "--size many"), (["--hosts=1"], "--hosts")):
            done = subprocess.run([DEMO, "--build-dir", "/nonexistent", *options],
                                  capture_output=True, text=True, timeout=HANG_S, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)

    def test_Demo_Interrupted_EndsWhatItStarted(self):
        child = subprocess.Popen([DEMO, *SMALL, "--size=64M", "--rounds=50"], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env={**os.environ, "THINWIRE_DEMO_TEST": str(os.getpid())})
        while "wire limit" not in child.stdout.readline():
            self.assertIsNone(child.poll())
        child.send_signal(signal.SIGINT)
        _, error = child.communicate(timeout=HANG_S)
        self.assertEqual(child.returncode, 130, error)
        self.assertEqual(self.processes_of(f"THINWIRE_DEMO_TEST={os.getpid()}"), [])

    @staticmethod
    def processes_of(setting):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                environment = pathlib.Path("/proc", pid, "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if setting.encode() in environment:
                found.append(pid)
        return found


if __name__ == "__main__":
    unittest.main(verbosity=2)

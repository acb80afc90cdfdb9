#!/usr/bin/python3
"""The trainer over loopback: it learns, exact and compressed, and all ranks keep equal weights."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TRAINER, PLUGIN = sys.argv.pop(1), sys.argv.pop(1)
HANG_S = 100


def train(ranks, *options, expected=0):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "result.json")
        done = subprocess.run([TRAINER, "--plugin", PLUGIN, "-g", str(ranks), "-J", str(path),
                               *options],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=HANG_S, check=False,
                              env={**os.environ, "NCCL_SOCKET_IFNAME": "=lo"})
        if done.returncode != expected:
            raise AssertionError(f"status {done.returncode}:\n{done.stdout}")
        return done.stdout, json.loads(path.read_text("utf-8")) if expected == 0 else None


class TrainerTest(unittest.TestCase):
    def test_Exact_TwoRanks_LearnsAndRepeatsBitForBit(self):
        text, first = train(2, "--epochs=2")
        self.assertIn("weights equal on all ranks: yes", text)
        self.assertEqual(len(first["weights"]), 2)
        self.assertEqual(len(first["epochs"]), 2)
        self.assertGreater(first["test_accuracy"], 0.7)
        self.assertEqual(train(2, "--epochs=2")[1], first)

    def test_Exact_OtherSeed_GivesOtherWeights(self):
        self.assertNotEqual(train(2, "--epochs=1")[1]["weights"],
                            train(2, "--epochs=1", "--seed=2")[1]["weights"])

    def test_Int8_FourRanks_LearnsOtherBitsEqualOnAllRanks(self):
        text, lossy = train(4, "--epochs=3", "--compress=int8")
        self.assertIn("THINWIRE_COMPRESS=int8 THINWIRE_COMPRESS_MIN_BYTES=0", text)
        self.assertEqual(len(set(lossy["weights"])), 1)
        self.assertGreater(lossy["test_accuracy"], 0.8)
        exact = train(4, "--epochs=3", "--compress=none")[1]
        self.assertNotEqual(exact["weights"], lossy["weights"])
        self.assertLess(abs(exact["loss"] - lossy["loss"]), 0.1 * exact["loss"])

    def test_Batch_SmallerThanTheRanks_StillTrains(self):
        self.assertTrue(train(3, "--epochs=1", "--batch=2", "--hidden=8")[1]["weights_equal"])

    def test_Value_NotAcceptable_IsMisuseAndNamed(self):
        for option in ("--compress=int9", "--lr=nan", "--lr=-1", "--lr=inf", "--lr=0.1x",
                       "--momentum=nan", "--momentum=2", "--seed=-1", "--seed=1e3", "--seed=x",
                       "--seed=18446744073709551616", "--epochs=0", "--epochs=x", "--batch=-1",
                       "--batch=0", "--hidden=-1", "--hidden=0", "--timeout=-1", "--nosuch=1"):
            text, _ = train(2, "--epochs=1", option, expected=2)
            self.assertIn(option.split("=")[0].lstrip("-"), text.lower())

    def test_Output_Lost_IsAnError(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([TRAINER, "--plugin", PLUGIN, "-g", "2", "--epochs=1"],
                                  stdout=full, stderr=subprocess.PIPE, text=True, timeout=HANG_S,
                                  check=False, env={**os.environ, "NCCL_SOCKET_IFNAME": "=lo"})
        self.assertEqual(done.returncode, 4)
        self.assertIn("standard output cannot be written: No space left", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

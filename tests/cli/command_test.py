"""The thinwire command as an administrator runs it. Run: command_test.py THINWIRE."""

import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop()


def run(*arguments, **settings):
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **settings}
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, env=environment,
                          timeout=60, check=False)


class Command(unittest.TestCase):
    def test_info_shows_values_and_their_source(self):
        done = run("info", THINWIRE_COMPRESS="int8")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"THINWIRE_COMPRESS +int8 +none +environment")
        self.assertRegex(done.stdout, r"THINWIRE_WORKERS +0 +0 +default")
        self.assertIn("SIMD targets: scalar", done.stdout)
        self.assertIn("tcp: ", done.stdout)

    def test_config_prints_what_is_effective(self):
        done = run("config", THINWIRE_TCP_WINDOW_BYTES="8M")
        self.assertEqual(done.returncode, 0)
        self.assertIn("THINWIRE_TCP_WINDOW_BYTES=8388608\n", done.stdout)

    def test_config_refuses_an_invalid_value(self):
        done = run("config", THINWIRE_COMPRESS="int9")
        self.assertEqual(done.returncode, 1)
        self.assertIn("THINWIRE_COMPRESS=int9", done.stdout)
        self.assertIn("none, fp16, bf16, int8", done.stdout)

    def test_config_warns_of_a_misspelt_name(self):
        done = run("config", THINWIRE_COMPRES="int8")
        self.assertEqual(done.returncode, 0)
        self.assertIn("nearest known name is THINWIRE_COMPRESS\n", done.stdout)

    def test_doctor_fails_without_a_choice_of_plugin(self):
        done = run("doctor")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"FAIL +choice .*NCCL_NET_PLUGIN is not set")

    def test_doctor_says_what_is_wrong_with_a_wrong_library(self):
        done = run("doctor", "--plugin", "/nonexistent/libnccl-net-x.so")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"FAIL +library .*/nonexistent/libnccl-net-x\.so")

    def test_unknown_usage_is_an_error(self):
        self.assertNotEqual(run().returncode, 0)
        self.assertNotEqual(run("frobnicate").returncode, 0)


if __name__ == "__main__":
    unittest.main()

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

    def test_info_shows_rails_and_complains_of_others(self):
        done = run("info", NCCL_SOCKET_IFNAME="=lo::3:1")
        self.assertRegex(done.stdout, r"(?m)^tcp: lo, .*, rail 3, plane 1: the only interface")
        done = run("info", NCCL_SOCKET_IFNAME="=lo::3:20000")
        self.assertRegex(done.stdout, r"(?m)^tcp: lo, .*, rail 3: the only interface")
        self.assertRegex(done.stdout + done.stderr,
                         r"NCCL_SOCKET_IFNAME: the plane 20000 of lo::3:20000 .* 0 to 16383")

    def test_info_shows_the_other_settings_beside_an_invalid_one(self):
        done = run("info", THINWIRE_COMPRESS="int9", THINWIRE_WORKERS="3")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"THINWIRE_COMPRESS +none +none +environment, invalid: int9")
        self.assertRegex(done.stdout, r"THINWIRE_WORKERS +3 +0 +environment")
        self.assertIn("settings: invalid", done.stdout)

    def test_doctor_counts_a_misspelt_name_as_a_warning(self):
        done = run("doctor", THINWIRE_COMPRES="int8")
        self.assertRegex(done.stdout, r"WARN +settings +unknown setting THINWIRE_COMPRES .*COMPRESS")

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

    def test_doctor_reads_the_files_that_settings_name(self):
        for name in ("THINWIRE_CLUSTER_FILE", "THINWIRE_HWLOC_XML", "THINWIRE_TUNING_FILE"):
            done = run("doctor", **{name: "/nonexistent"})
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stdout, r"FAIL +settings +a file they name is unusable")
            self.assertIn("/nonexistent", done.stdout + done.stderr)

    def test_doctor_fails_without_a_choice_of_plugin(self):
        done = run("doctor")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"FAIL +choice .*NCCL_NET_PLUGIN is not set")

    def test_doctor_says_what_is_wrong_with_a_wrong_library(self):
        done = run("doctor", "--plugin", "/nonexistent/libnccl-net-x.so")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"FAIL +library .*/nonexistent/libnccl-net-x\.so")

    def usage_error(self, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_no_command_lists_the_commands(self):
        self.assertRegex(self.usage_error(), r"no command; accepted: info, doctor, .*config")

    def test_unknown_command_is_named(self):
        self.assertRegex(self.usage_error("nosuch"), r"unknown command nosuch; accepted: info")
        self.assertIn("unknown command doktor; did you mean doctor?", self.usage_error("doktor"))
        self.assertIn("unknown command nosuch", self.usage_error("nosuch", "--help-me"))

    def test_unknown_option_is_named(self):
        self.assertIn("unknown option --markdwn; did you mean --markdown?",
                      self.usage_error("config", "--markdwn"))
        self.assertIn("--frobnicate", self.usage_error("--frobnicate"))
        self.assertIn("info takes no word more", self.usage_error("info", "more"))

    def test_conflicting_and_incomplete_options_are_misuse(self):
        self.usage_error("config", "--markdown", "--file")
        self.usage_error("doctor", "--plugin")

    def test_help_and_version_are_no_errors(self):
        self.assertEqual(run("--help").returncode, 0)
        self.assertEqual(run("config", "--help").returncode, 0)
        self.assertEqual(run("--version").returncode, 0)

    def test_lost_output_is_an_error(self):
        for arguments in (["info"], ["doctor"], ["config"], ["config", "--markdown"], ["--help"]):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE,
                                      text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn("standard output cannot be written: ", done.stderr)


if __name__ == "__main__":
    unittest.main()

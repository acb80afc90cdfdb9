#!/usr/bin/python3
"""netlab from outside: what ranks see, statuses, rates, and that nothing outlives it."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

NETLAB = sys.argv.pop(1)
HANG_S = 60


def netlab(*arguments, **options):
    return subprocess.run([NETLAB, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=HANG_S, check=False, **options)


def holders(namespaces):
    """What still refers to one of the namespaces: processes, descriptors, mounts."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for folder in (f"/proc/{pid}/ns", f"/proc/{pid}/fd"):
            try:
                entries = os.listdir(folder)
            except OSError:
                continue
            for entry in entries:
                try:
                    if os.readlink(f"{folder}/{entry}") in namespaces:
                        found.append(f"{folder}/{entry}")
                except OSError:
                    continue
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        found += [line for line in mounts if any(name in line for name in namespaces)]
    return found


def wait_for(condition, what):
    deadline = time.monotonic() + HANG_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"never happened: {what}")
        time.sleep(0.02)


class NetlabTest(unittest.TestCase):
    def test_Command_FourHosts_SeesOneRankEach(self):
        done = netlab("--quiet", "--no-shape", "--output=prefix", "--", "sh", "-c",
                      "echo $RANK/$WORLD_SIZE/$LOCAL_RANK $MASTER_ADDR $NCCL_HOSTID "
                      "$NCCL_SOCKET_IFNAME")
        self.assertEqual(done.returncode, 0, done.stderr)
        expected = [f"{rank}/4/0 10.77.0.1 netlab-host{rank} =eth0" for rank in range(4)]
        expected = expected[:1] + [f"[host{r}] {expected[r]}" for r in (1, 2, 3)]
        self.assertCountEqual(done.stdout.splitlines(), expected)

    def test_Command_TwoRanksPerHost_ShareTheHost(self):
        done = netlab("--quiet", "--hosts=2", "--ranks-per-host=2", "--output=prefix", "--",
                      "sh", "-c", "echo $RANK $LOCAL_RANK $NCCL_HOSTID")
        self.assertCountEqual(done.stdout.splitlines(), [
            "0 0 netlab-host0", "[host0.1] 1 1 netlab-host0",
            "[host1.0] 2 0 netlab-host1", "[host1.1] 3 1 netlab-host1"])

    def test_Family_Ipv6_HasNoIpv4(self):
        done = netlab("--quiet", "--hosts=2", "--family=ipv6", "--", "sh", "-c",
                      "echo $MASTER_ADDR; ip -o addr show dev eth0 scope global")
        self.assertIn("fd77::1", done.stdout)
        self.assertNotIn("inet ", done.stdout)

    def test_Rank_FailsFirst_GivesItsStatusAndEndsTheOthers(self):
        done = netlab("--hosts=3", "--grace=1", "--", "sh", "-c",
                      'echo I am $RANK; [ "$RANK" = 2 ] && exit 41; trap "" TERM; sleep 600 & wait')
        self.assertEqual(done.returncode, 41)
        self.assertIn("netlab: host2 exited with status 41", done.stderr)
        self.assertIn("[host2] I am 2", done.stderr)

    def test_Rank_EndedBySignal_Gives128AndItsNumber(self):
        done = netlab("--hosts=2", "--", "sh", "-c", '[ "$RANK" = 0 ] && kill -KILL $$; exit 0')
        self.assertEqual(done.returncode, 128 + signal.SIGKILL)

    def test_KeepGoing_RankFails_LetsTheOthersFinish(self):
        done = netlab("--hosts=2", "--keep-going", "--", "sh", "-c",
                      '[ "$RANK" = 1 ] && exit 3; sleep 0.5; echo finished')
        self.assertEqual(done.returncode, 3)
        self.assertIn("finished", done.stdout)

    def test_Timeout_RunsOut_Gives124(self):
        self.assertEqual(netlab("--hosts=2", "--timeout=0.5", "--", "sleep", "600").returncode, 124)

    def test_Command_Missing_Gives127(self):
        done = netlab("--hosts=2", "--", "/no/such/command")
        self.assertEqual(done.returncode, 127)
        self.assertIn("/no/such/command: No such file", done.stderr)

    def test_Value_NotAcceptable_IsMisuseAndNamed(self):
        for option in ("--rate=1000", "--rate=0gbit", "--rate=1kbit", "--rate=9000gbit",
                       "--mtu=10", "--mtu=70000", "--mtu=x", "--mtu=1000", "--delay=5",
                       "--delay=foo", "--delay=100s", "--delay=-1ms", "--hosts=0", "--hosts=251",
                       "--hosts=x", "--ranks-per-host=0", "--queue-ms=nan", "--queue-ms=-1",
                       "--timeout=-1", "--timeout=nan", "--grace=inf", "--family=ipx",
                       "--congestion=foo", "--output=sometimes"):
            done = netlab(option, "--", "true")
            self.assertEqual(done.returncode, 2, option + done.stderr)
            self.assertIn(option.split("=")[0], done.stderr)

    def test_Mtu_SmallWithoutIpv6_Works(self):
        self.assertEqual(netlab("--hosts=2", "--mtu=500", "--family=ipv4", "--", "true").returncode,
                         0)

    def test_Output_Lost_IsAnError(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([NETLAB, "--hosts=2", "--", "true"], stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=HANG_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output cannot be written: No space left", done.stderr)

    def test_Links_PlainTcp_RunsAtTheRate(self):
        done = netlab("--hosts=3", "--rate=100mbit", "--self-test")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("receives"), 6)

    def end_and_look(self, number):
        before = sorted(os.listdir("/sys/class/net"))
        with tempfile.TemporaryDirectory() as folder:
            lab = subprocess.Popen([NETLAB, "--quiet", "--hosts=2", "--", "sh", "-c",
                                    f"readlink /proc/self/ns/net /proc/self/ns/pid >{folder}/$RANK;"
                                    "sleep 600 & sleep 600"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
            reports = [pathlib.Path(folder, rank) for rank in "01"]
            read = lambda: [text for report in reports if report.exists()
                            for text in report.read_text("ascii").split()]
            wait_for(lambda: len(read()) == 4, "both ranks run")
            spaces = set(read())
            self.assertEqual(len(spaces), 3)
            self.assertTrue(holders(spaces))
            lab.send_signal(number)
            status = lab.wait(HANG_S)
        wait_for(lambda: not holders(spaces), "every process and namespace of the lab is gone")
        self.assertEqual(sorted(os.listdir("/sys/class/net")), before)
        return status

    def test_Netlab_KilledBySigkill_LeavesNothing(self):
        self.assertEqual(self.end_and_look(signal.SIGKILL), -signal.SIGKILL)

    def test_Netlab_Terminated_LeavesNothing(self):
        self.assertEqual(self.end_and_look(signal.SIGTERM), 128 + signal.SIGTERM)


if __name__ == "__main__":
    check = netlab("--check")
    if check.returncode == 77:
        print("everything skipped:", check.stderr.strip())
        sys.exit(77)
    unittest.main(verbosity=2)

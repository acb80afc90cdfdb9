"""What netlab_schedules makes of records: medians, bounds, statuses. Run: ... NETLAB_SCHEDULES"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop()
HEAD = "hosts,ranks_per_host,mbit,codec,bytes,schedule,us\n"


class Table(unittest.TestCase):
    def table(self, records, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "records.csv")
            path.write_text(records, "ascii")
            done = subprocess.run([PROGRAM, "--rounds", "0", "--records", path, *arguments],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=60, check=False)
        return done.returncode, done.stdout

    def records(self, *lines):
        return HEAD + "".join(f"4,1,1000,none,{line}\n" for line in lines)

    def test_Samples_Several_MedianIsShownAndAutoComparedWithTheBest(self):
        status, text = self.table(self.records(
            "1024,ring,3000", "1024,ring,1000", "1024,ring,2000", "1024,direct,4000",
            "1024,auto,2500"))
        self.assertEqual(status, 0, text)
        self.assertIn("| 1 KiB | 2.000 | 4.000 | 2.500 | ring, 1.25 |", text)

    def test_Auto_TooSlow_FailsWhereABoundIsAskedFor(self):
        for us, status in ((1100, 0), (1101, 1)):
            records = self.records("1048576,ring,1000", f"1048576,auto,{us}")
            self.assertEqual(self.table(records, "--within", "0.1")[0], status)
            self.assertEqual(self.table(records)[0], 0)

    def test_Auto_WithinThirtyMicroseconds_IsGoodEnough(self):
        for us, status in ((130, 0), (131, 1)):
            records = self.records("1024,ring,100", f"1024,auto,{us}")
            self.assertEqual(self.table(records, "--within", "0.1")[0], status)

    def test_Labs_Several_HaveATableEach(self):
        status, text = self.table(HEAD + "4,1,1000,none,1024,ring,1\n4,2,1000,none,1024,ring,1\n")
        self.assertEqual(status, 0)
        self.assertIn("4 hosts of 1,", text)
        self.assertIn("4 hosts of 2,", text)

    def test_Records_Malformed_AreMisuseAndNamed(self):
        for line in ("4,1,1000,none,1024,ring", "4,1,1000,none,x,ring,1", "4,1"):
            status, text = self.table(HEAD + line + "\n")
            self.assertEqual(status, 2)
            self.assertIn("records.csv: record 2", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)

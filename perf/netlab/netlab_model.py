"""What the simulator says of an all-reduce in a lab. See netlab_schedules.

The constants are those of netlab's links (docs/netlab.md) and of a machine whose cores the ranks of
all hosts share.
"""

import csv
import functools
import io
import subprocess

PAYLOAD_SHARE = 0.956  # of a link's rate, at an MTU of 1500
CONSTANTS = {"--latency-us": 40, "--message-us": 8, "--local-us": 15, "--local-gbit": 12,
             "--reduce-gbytes": 3, "--encode-gbytes": 2.6, "--decode-gbytes": 3.3}


class Model:
    def __init__(self, program):
        self.program = str(program)
        self.simulated = functools.cache(self.simulate)

    def simulate(self, hosts, ranks, mbit, codec, size):
        """ms by the schedule's name."""
        command = [self.program, "sim", "--csv", "--ranks", hosts * ranks, "--hosts", hosts,
                   "--gbit", mbit / 1e3 * PAYLOAD_SHARE, "--size", size, "--piece", "128K"]
        for name, value in CONSTANTS.items():
            command += [name, value]
        if codec != "none":
            command += ["--codec", codec]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              check=True)
        return {row["schedule"]: float(row["ms"]) for row in csv.DictReader(io.StringIO(done.stdout))}

    def us(self, case):
        times = self.simulated(case.hosts, case.ranks_per_host, case.mbit, case.codec, case.bytes)
        named = {name: ms for name, ms in times.items() if name.startswith(case.schedule)}
        # Between hosts a hierarchical schedule runs a ring where sums are exact, else directly.
        inner = "ring" if case.codec == "none" else "direct"
        name = case.schedule if case.schedule != "hierarchical" else f"hierarchical {inner}"
        return 1e3 * next(ms for full, ms in named.items() if full.startswith(name))

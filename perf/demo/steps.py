"""The demo's steps: programs run one after another by every rank, and their progress.

The same list of steps is run by each rank of one lab, so that all of them meet the same links. A
step's ranks find each other by the launcher variables; each step has a port of its own. Run as a
program (by netlab, as one rank) this file runs such a list and reports on standard output.
"""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

STEP_TIMEOUT_S = 300  # against hangs; a busy machine takes long to verify 64 MiB
FIRST_PORT = 29400
MARK = "@step "


@dataclasses.dataclass
class Step:
    """One program run: `name` is shown; the program writes its figures to `json`."""
    name: str
    command: list
    json: str
    settings: dict


class StepFailed(Exception):
    """A program failed; the text says which and shows the end of its output."""


def run_step(step, index, ranks_per_process):
    """Runs one step as this rank. Its output is kept, and shown when it fails."""
    rank = os.environ.get("RANK", "0")
    log = pathlib.Path(f"{step['json']}.rank{rank}.log")
    command = step["command"] + ["-J", step["json"]]
    environment = {**os.environ, **step["settings"]}
    if "RANK" in environment:
        environment["MASTER_PORT"] = str(FIRST_PORT + index)
    else:
        command += ["-g", str(ranks_per_process)]
    with log.open("w", encoding="utf-8") as output:
        try:
            status = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL,
                                    stdout=output, stderr=subprocess.STDOUT,
                                    timeout=STEP_TIMEOUT_S, check=False).returncode
        except subprocess.TimeoutExpired:
            output.write(f"ended after {STEP_TIMEOUT_S} s\n")
            status = 124
    if status != 0:
        print(f"{step['name']}: {' '.join(command)}: status {status}\n"
              + log.read_text("utf-8")[-4000:], flush=True)
    return status


def run_all(path):
    plan = json.loads(pathlib.Path(path).read_text("utf-8"))
    for index, step in enumerate(plan["steps"]):
        mark = lambda what: os.environ.get("RANK", "0") == "0" and print(
            f"{MARK}{what} {index} {time.monotonic():.3f}", flush=True)
        mark("begin")
        status = run_step(step, index, plan["ranks"])
        if status:
            return status
        mark("end")
    return 0


class Runner:
    """Starts the list in a lab, or without one, and tells `progress` how far it is."""

    def __init__(self, folder, steps, ranks, progress):
        self.folder = pathlib.Path(folder)
        self.steps = steps
        self.progress = progress
        self.plan = self.folder / "plan.json"
        self.plan.write_text(json.dumps(
            {"ranks": ranks, "steps": [dataclasses.asdict(step) for step in steps]}), "utf-8")

    def run(self, lab):
        """`lab` is netlab's command line up to the --, or [] for this host alone."""
        command = lab + ["/usr/bin/python3", "-B", os.path.realpath(__file__), str(self.plan)]
        other_output = []
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as child:
            try:
                for line in child.stdout:
                    if line.startswith(MARK):
                        what, index, at = line[len(MARK):].split()
                        step = self.steps[int(index)]
                        getattr(self.progress, what)(int(index), step, float(at))
                    elif line.startswith("# netlab"):
                        self.progress.note(line[2:].strip())
                    else:
                        other_output.append(line)
            except BaseException:
                child.terminate()
                child.wait()  # Popen itself does not wait long after an interrupt
                raise
        if child.returncode != 0:
            raise StepFailed("".join(other_output[-120:]) or f"status {child.returncode}")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(run_all(sys.argv[1]))

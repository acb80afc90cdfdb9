#!/usr/bin/python3
"""./dev demo: all-reduce and training across four simulated hosts, exact and compressed.

In one lab of four hosts with 1 Gbit/s links: the wire limit (plain TCP, every host to the next, all
at once), then an exact, an fp16 and an int8 all-reduce of 64 MiB of float32, in turns, several
rounds (the first verifies every element), all through the real plugin. Then a small model is
trained through it, exact and int8. Where network namespaces are not permitted the same runs over
loopback.

Exit status: 0 when everything ran and every result was right, 1 when not, 2 for misuse. The speeds
are compared with what is expected of them and count only with --strict: they need a machine that is
not busy.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
import report  # noqa: E402
from steps import Runner, Step, StepFailed  # noqa: E402

MODES = ("exact", "fp16", "int8")
HERE = pathlib.Path(__file__).resolve().parent


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    parser.add_argument("--build-dir", type=pathlib.Path, default=HERE.parent.parent / "build")
    parser.add_argument("--hosts", type=int, default=4, metavar="N")
    parser.add_argument("--rate", default="1gbit", metavar="RATE", help="of each link")
    parser.add_argument("--size", default="64M", metavar="BYTES", help="of the all-reduce")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--iterations", type=int, default=2, metavar="N", help="a round")
    parser.add_argument("--epochs", type=int, default=20, metavar="N", help="of the training")
    parser.add_argument("--loopback", action="store_true", help="do not make hosts")
    parser.add_argument("--strict", action="store_true", help="a missed speed fails the demo")
    parser.add_argument("--check-arguments", action="store_true", help="judge these, do nothing")
    args = parser.parse_args()
    if args.hosts < 2 or args.rounds < 1 or args.iterations < 1 or args.epochs < 1:
        parser.error("--hosts is at least 2, the other numbers at least 1")
    if not re.fullmatch(r"\d+(\.\d+)?[KMGkmg]?", args.size):
        parser.error(f"--size {args.size}: bytes, with K, M or G")
    if args.json:
        try:  # now, not after minutes of measuring
            with open(args.json, "a", encoding="utf-8"):
                pass
        except OSError as error:
            parser.error(f"--json {args.json} cannot be written: {error.strerror}")
    return args


class Progress:
    """One line a step; on a terminal the running step counts its seconds."""

    def __init__(self, total):
        self.total = total
        self.live = sys.stdout.isatty()
        self.began = 0.0
        self.ended = threading.Event()
        self.ticker = None

    def note(self, text):
        print(f"  {text}", flush=True)

    def line(self, index, step, seconds):
        return f"  [{index + 1:2}/{self.total}] {step.name:36} {seconds:5.1f} s"

    def begin(self, index, step, at):
        self.began = at
        if self.live:
            self.ended.clear()
            self.ticker = threading.Thread(target=self.tick, args=(index, step), daemon=True)
            self.ticker.start()

    def tick(self, index, step):
        while True:
            line = self.line(index, step, time.monotonic() - self.began)
            print(f"\r{line} ...", end="", flush=True)
            if self.ended.wait(0.5):
                return

    def end(self, index, step, at):
        self.stop()
        print(f"{self.line(index, step, at - self.began)}", flush=True)

    def stop(self):
        if self.ticker:
            self.ended.set()
            self.ticker.join()
            self.ticker = None
            print("\r\033[K", end="", flush=True)


def make_steps(args, programs, folder, local):
    """Rounds of wire limit, exact, fp16, int8, then the trainings: the order they run in."""
    steps = []
    all_reduce = [str(programs / "all_reduce_perf"), "-b", args.size, "-e", args.size,
                  "-n", str(args.iterations), "-w", "1", "-d", "float",
                  "-o", "sum"] + (["--separate-hosts"] if local else [])
    for turn in range(args.rounds):
        steps.append(Step(f"round {turn + 1}: wire limit", [str(programs / "wire_probe")],
                          str(folder / f"wire{turn}.json"), {}))
        for mode in MODES:
            codec = "none" if mode == "exact" else mode
            check = ["-c", "1" if turn == 0 else "0"]  # it takes as long as the rest together
            steps.append(Step(f"round {turn + 1}: all-reduce {args.size}, {mode}",
                              all_reduce + check, str(folder / f"{mode}{turn}.json"),
                              {"THINWIRE_COMPRESS": codec}))
    for mode in ("exact", "int8"):
        codec = "none" if mode == "exact" else mode
        steps.append(Step(f"training, {mode}",
                          [str(programs / "trainer"), "--epochs", str(args.epochs),
                           "--compress", codec], str(folder / f"trainer_{mode}.json"), {}))
    return steps


def lab_command(args, programs):
    """netlab's command line; [] where this machine does not permit a lab, which is said."""
    if args.loopback:
        return []
    netlab = str(programs / "netlab")
    lab = [netlab, "--hosts", str(args.hosts), "--rate", args.rate]
    check = subprocess.run(lab + ["--check"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                           text=True, check=False)
    if check.returncode == 2:
        raise StepFailed(check.stderr.strip())
    if check.returncode != 0:
        print(f"  {check.stderr.strip()}\n  No hosts can be made here: {args.hosts} ranks over "
              "loopback, whose speed no link limits.", flush=True)
        return []
    return lab + ["--"]


def run_demo(args, folder):
    programs = args.build_dir / "bin"
    missing = [name for name in ("netlab", "wire_probe", "all_reduce_perf", "trainer")
               if not (programs / name).exists()]
    if missing:
        raise StepFailed(f"{programs} lacks {', '.join(missing)}: build first (./dev build)")
    print(f"Thinwire demo: {args.hosts} hosts, {args.rate} links, all-reduce of {args.size} "
          "float32, then training", flush=True)
    lab = lab_command(args, programs)
    steps = make_steps(args, programs, folder, not lab)
    progress = Progress(len(steps))
    try:
        Runner(folder, steps, args.hosts, progress).run(lab)
    finally:
        progress.stop()
    return report.figures_of(folder, MODES, args.rounds, args.hosts, shaped=bool(lab))


def main():
    args = parse_arguments()
    if args.check_arguments:
        return 0
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    started = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="thinwire-demo-") as folder:
            figures = run_demo(args, pathlib.Path(folder))
    except StepFailed as failure:
        print(f"\n{failure}\nThe demo did not finish.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted; everything it started has been ended.", file=sys.stderr)
        return 130
    figures["seconds"] = round(time.monotonic() - started, 1)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    status = report.print_report(figures, MODES, args.strict)
    sys.stdout.flush()
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:  # of the report or the figures: a full disk
        print(f"demo: output cannot be written: {error.strerror}", file=sys.stderr)
        os._exit(1)

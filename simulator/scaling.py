#!/usr/bin/python3
"""The table and the plots of docs/scaling.md, by `thinwire sim`: ./dev scaling.

scaling.py THINWIRE DOCUMENT writes the table between the marks of the document, and beside it
scaling-exact.svg and scaling-int8.svg where matplotlib is there.
"""

import argparse
import csv
import io
import pathlib
import subprocess
import sys

BEGIN, END = "<!-- simulator/scaling.py -->", "<!-- end -->"
GRIDS = {16: ("4x4", "4x2x2"), 128: ("16x8", "8x4x4"), 1024: ("32x32", "16x8x8"),
         4096: ("64x64", "32x16x8")}
EACH = 8  # ranks of a host, where hosts have several
SIZE = "64M"
CODECS = {"exact": [], "int8": ["--codec", "int8"]}
NETWORKS = {
    "10 Gbit/s": ["--gbit", "9.4", "--latency-us", "30", "--message-us", "4",
                  "--reduce-gbytes", "6", "--encode-gbytes", "5.2", "--decode-gbytes", "6.6",
                  "--local-gbit", "40"],
    "100 Gbit/s": ["--gbit", "95", "--latency-us", "10", "--message-us", "1",
                   "--reduce-gbytes", "10", "--encode-gbytes", "6", "--decode-gbytes", "8",
                   "--local-gbit", "160"],
}


def schedules_of(ranks):
    """(name, options) of each line of a plot and column of the table."""
    flat, deep = GRIDS[ranks]
    hosts = ["--hosts", str(ranks // EACH)]
    return [("ring", ["--schedule", "ring"]),
            ("2-D ring", ["--schedule", "grid", "--grid", flat]),
            ("3-D ring", ["--schedule", "grid", "--grid", deep]),
            ("direct", ["--schedule", "direct"]),
            (f"ring, {EACH} ranks a host", ["--schedule", "ring", *hosts]),
            (f"hierarchical, {EACH} ranks a host", ["--schedule", "hierarchical direct", *hosts])]


def simulate(program, ranks, options):
    """ms of the fastest schedule that the options let through."""
    command = [program, "sim", "--csv", "--ranks", str(ranks), "--size", SIZE, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return min(float(row["ms"]) for row in csv.DictReader(io.StringIO(done.stdout)))


def run_all(program, all_ranks):
    """ms by (codec, network, schedule, ranks)."""
    return {(codec, network, name, ranks): simulate(program, ranks, [*chosen, *links, *coded])
            for codec, coded in CODECS.items() for network, links in NETWORKS.items()
            for ranks in all_ranks for name, chosen in schedules_of(ranks)}


def table_of(times, all_ranks):
    names = [name for name, _ in schedules_of(all_ranks[0])]
    lines = ["| | ranks | " + " | ".join(names) + " |", "|---" * (2 + len(names)) + "|"]
    for codec in CODECS:
        for network in NETWORKS:
            for ranks in all_ranks:
                cells = (f"{times[codec, network, name, ranks]:.1f}" for name in names)
                lines.append(f"| {network}, {codec} | {ranks} | " + " | ".join(cells) + " |")
    lines += ["", "Each network's options:", ""]
    lines += [f"    {network}: {' '.join(links)}" for network, links in NETWORKS.items()]
    return "\n".join(lines)


def plot(times, all_ranks, codec, path):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "thinwire"
    from matplotlib import pyplot
    figure, panels = pyplot.subplots(1, len(NETWORKS), figsize=(11, 4.5), sharex=True)
    for panel, network in zip(panels, NETWORKS):
        for name, _ in schedules_of(all_ranks[0]):
            panel.plot(all_ranks, [times[codec, network, name, ranks] for ranks in all_ranks],
                       marker="o", label=name)
        panel.set(xscale="log", yscale="log", xticks=all_ranks, title=f"{network}, {SIZE}B of float32, "
                  f"{codec}", xlabel="ranks", ylabel="ms")
        panel.set_xticklabels([f"{ranks:,}" for ranks in all_ranks])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    panels[0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("document", type=pathlib.Path)
    parser.add_argument("--ranks", nargs="+", type=int, choices=GRIDS, default=[*GRIDS],
                        help="4096 take an hour or so of one core")
    args = parser.parse_args()
    text = args.document.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"{args.document}: no {BEGIN} and {END}")
    times = run_all(args.program, args.ranks)
    table = table_of(times, args.ranks)
    args.document.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}", "utf-8")
    try:
        for codec in CODECS:
            plot(times, args.ranks, codec, args.document.with_name(f"scaling-{codec}.svg"))
    except ImportError:
        print("no plots: python3-matplotlib is missing", file=sys.stderr)


if __name__ == "__main__":
    main()

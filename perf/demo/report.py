"""What the demo measured: figures out of the programs' files, the table, the summary."""

import json
import pathlib
import statistics

# What is expected of the speeds: text, where it stands in the figures, at least, how it is shown.
SPEEDS = (("exact all-reduce, share of the wire limit", ("exact", "wire_fraction"), 0.95, "{:.1%}"),
          ("fp16, times as fast as exact", ("fp16", "speedup"), 1.85, "{:.2f}x"),
          ("int8, times as fast as exact", ("int8", "speedup"), 3.5, "{:.2f}x"))
ACCURACY_LOSS = 0.02  # a handful of the 359 test images


def load(folder, name):
    return json.loads(pathlib.Path(folder, name).read_text("utf-8"))


class Round:
    """One run of all_reduce_perf: its row, both directions (out of place, in place)."""

    def __init__(self, file):
        self.row = file["results"][0]
        self.runs = [self.row[way] for way in ("out_of_place", "in_place") if self.row[way]]

    def mean(self, key):
        values = [run[key] for run in self.runs if run[key] is not None]
        return statistics.mean(values) if values else None

    def worst(self, key):
        values = [run[key] for run in self.runs if run[key] is not None]
        return max(values) if values else None


def median_of(pairs):
    return statistics.median(value for value in pairs)


def mode_figures(rounds, exact, wire, hosts):
    """Ratios are taken within a round, where all ran on the same links just after another."""
    ideal_bytes = [2 * (hosts - 1) / hosts * one.row["size"] for one in rounds]
    times = [one.mean("time") * 1e-6 for one in rounds]
    sent = [one.mean("bytes_sent_per_rank") for one in rounds]
    own = [bytes_ / rate / time for bytes_, rate, time in zip(sent, wire, times) if bytes_]
    worst = lambda key: max((one.worst(key) for one in rounds if one.worst(key) is not None),
                            default=0)
    compared = [run["hashes_equal"] for one in rounds for run in one.runs
                if run["hashes_equal"] is not None]
    return {
        "time_ms": median_of(times) * 1e3,
        "bus_gb_per_s": median_of(one.mean("bus_bw") for one in rounds),
        "speedup": median_of(base.mean("time") * 1e-6 / time for base, time in zip(exact, times)),
        "wire_fraction": median_of(bytes_ / rate / time
                                   for bytes_, rate, time in zip(ideal_bytes, wire, times)),
        "own_wire_fraction": median_of(own) if own else None,
        "bytes_sent_per_rank": median_of(sent) if own else None,
        "max_rel_error": worst("max_rel_error"),
        "rms_rel_error": worst("rms_rel_error"),
        "wrong": worst("nwrong"),
        "hashes_equal": compared != [] and all(compared),
        "times_ms": [round(time * 1e3, 3) for time in times],
    }


def trainer_figures(folder, mode):
    file = load(folder, f"trainer_{mode}.json")
    return {"accuracy": file["test_accuracy"], "train_accuracy": file["train_accuracy"],
            "loss": file["loss"], "weights_equal": file["weights_equal"],
            "weights": file["weights"]}


def figures_of(folder, modes, turns, hosts, shaped):
    wire = [load(folder, f"wire{turn}.json")["mean_bytes_per_s"] for turn in range(turns)]
    rounds = {mode: [Round(load(folder, f"{mode}{turn}.json")) for turn in range(turns)]
              for mode in modes}
    figures = {"hosts": hosts, "shaped_links": shaped, "bytes": rounds["exact"][0].row["size"],
               "wire_limit": {"bytes_per_s": median_of(wire), "rounds": wire}}
    for mode in modes:
        figures[mode] = mode_figures(rounds[mode], rounds["exact"], wire, hosts)
    figures["hashes_equal"] = all(figures[mode]["hashes_equal"] for mode in modes)
    trainer = {mode: trainer_figures(folder, mode) for mode in ("exact", "int8")}
    trainer["weights_equal"] = all(one["weights_equal"] for one in trainer.values())
    figures["trainer"] = trainer
    figures["expectations"] = list(expectations(figures, modes))
    return figures


def expectations(figures, modes):
    """What should hold: results always, speeds where links limit them."""
    trainer = figures["trainer"]
    wrong = sum(figures[mode]["wrong"] for mode in modes)
    loss = trainer["exact"]["accuracy"] - trainer["int8"]["accuracy"]
    yield result("every all-reduce verified, wrong elements", f"{wrong}", wrong == 0)
    yield result("the same bits on all ranks, every all-reduce", yes(figures["hashes_equal"]),
                 figures["hashes_equal"])
    yield result("the same weights on all ranks, every training", yes(trainer["weights_equal"]),
                 trainer["weights_equal"])
    yield result(f"int8 training within {ACCURACY_LOSS * 100:g} points of exact",
                 f"{0 - 100 * loss:+.1f}", loss <= ACCURACY_LOSS)
    if not figures["shaped_links"]:
        return
    for text, (mode, key), least, shown in SPEEDS:
        value = figures[mode][key]
        yield {"text": f"{text}, at least {shown.format(least)}", "value": shown.format(value),
               "held": value >= least, "speed": True}


def result(text, value, held):
    return {"text": text, "value": value, "held": held, "speed": False}


def yes(value):
    return "yes" if value else "NO"


def percent(value):
    return "-" if value is None else f"{100 * value:.1f} %"


def print_table(figures, modes):
    limit = figures["wire_limit"]["bytes_per_s"]
    hosts, size = figures["hosts"], figures["bytes"]
    limit_ms = 2 * (hosts - 1) / hosts * size / limit * 1e3
    print(f"\nAll-reduce of {size / 2**20:g} MiB float32 over {hosts} hosts. Wire limit (plain TCP)"
          f": {limit * 8e-6:.1f} Mbit/s each way, {limit_ms:.0f} ms.\n"
          "Its share: by the bytes of an exact all-reduce, and by those really sent. Errors are "
          "relative to the RMS of the exact sum.\n\n"
          "            time   busbw  speed-up   share of wire limit      error          "
          "wrong  same bits on\n"
          "              ms    GB/s              exact's   its own       max      RMS  "
          "         all ranks")
    for mode in modes:
        one = figures[mode]
        print(f"  {mode:5} {one['time_ms']:8.1f} {one['bus_gb_per_s']:7.3f} "
              f"{one['speedup']:8.2f}x {percent(one['wire_fraction']):>10} "
              f"{percent(one['own_wire_fraction']):>9} {one['max_rel_error']:9.1e} "
              f"{one['rms_rel_error']:8.1e} {one['wrong']:6} {yes(one['hashes_equal']):>12}")


def print_training(trainer):
    print("\nTraining, 1,797 handwritten digits, 64-128-10, data-parallel\n"
          "            loss  train accuracy  test accuracy  weights equal on all ranks")
    for mode in ("exact", "int8"):
        one = trainer[mode]
        print(f"  {mode:5} {one['loss']:9.4f} {one['train_accuracy']:15.4f} {one['accuracy']:14.4f}"
              f"  {yes(one['weights_equal'])} ({one['weights'][0]})")


def print_report(figures, modes, strict):
    """Prints all of it; the demo's exit status."""
    print_table(figures, modes)
    print_training(figures["trainer"])
    print("\nSummary")
    for one in figures["expectations"]:
        print(f"  {'held  ' if one['held'] else 'MISSED'}  {one['text']}: {one['value']}")
    if not figures["shaped_links"]:
        print("  The speeds are not judged: no link limited them.")
    print(f"  {figures['seconds']:.0f} s in all", flush=True)
    return int(any(not one["held"] for one in figures["expectations"]
                   if strict or not one["speed"]))

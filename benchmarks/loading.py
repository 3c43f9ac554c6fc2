"""How long a large table takes to load, to train on and to answer, and how much memory.

python benchmarks/loading.py                     # a million rows of 50 columns
python benchmarks/loading.py --rows 100000       # beside numpy.loadtxt in the same run

A table of random numbers with four digits, one column of ten texts and one of two classes is
written once. Each measurement is a process of its own, whose largest resident memory Linux counts;
what Python and numpy take before is subtracted. The training is that of `trilut train` with its
defaults, cut off after a few measurements; its speed includes the measurements, which are of a
fifth of the rows each.
"""

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

_LOAD = "import trilut.data; trilut.data.load_dataset(sys.argv[1])"
_TRAIN = "from loading import train_some; train_some(sys.argv[1])"
_NUMPY = "import numpy; numpy.loadtxt(sys.argv[1], delimiter=',', skiprows=1, usecols=range(50))"
_PREDICT = (
    "from pathlib import Path; import trilut; from trilut.app.predict import predict_file; "
    "predict_file(trilut.load(sys.argv[2]), Path(sys.argv[1]), Path(sys.argv[2] + '.csv'))"
)

# Measurements of the training.
MEASURED = 3


def write_table(path: Path, rows: int, columns: int) -> None:
    generator = np.random.default_rng(0)
    texts = np.array([f"city {number}" for number in range(10)])
    with path.open("w") as file:
        file.write(",".join([*(f"x{number}" for number in range(columns)), "city", "kind"]) + "\n")
        for start in range(0, rows, 10_000):
            count = min(10_000, rows - start)
            numbers = np.char.mod("%.4f", generator.normal(size=(count, columns)))
            city = texts[generator.integers(0, 10, count)]
            kind = np.where(generator.random(count) < 0.5, "yes", "no")
            cells = np.column_stack([numbers, city, kind])
            file.writelines(",".join(row) + "\n" for row in cells.tolist())


def write_netlist(path: Path, columns: int) -> None:
    import trilut

    generator = np.random.default_rng(0)
    features = tuple(trilut.Feature(f"x{n}", 8, scale=32.0, offset=128.0) for n in range(columns))
    own = columns + np.arange(200)
    threshold = np.full(columns, 128)
    trilut.save(
        trilut.Netlist.of_gates(
            columns,
            generator.integers(-1, 2, (200, 9), dtype=np.int8),
            generator.integers(0, own),
            generator.integers(0, own),
            own[-100:],
            encoder=trilut.Encoder(features, np.arange(columns), threshold - 8, threshold + 8),
            head=trilut.Head(("no", "yes"), (50, 50)),
        ),
        path,
    )


def train_some(table: str) -> None:
    """Load a table and train as many steps of a default training as two measurements take."""
    import dataclasses

    from trilut.data import load_dataset
    from trilut.training import TrainingConfig, train

    told = [time.monotonic()]
    dataset = load_dataset(table, progress=lambda *_: told.append(time.monotonic()))
    longest = max(after - before for before, after in itertools.pairwise(told))
    print(f"  while it loads, {len(told) - 1} signs of progress, {longest:.1f} s apart at most")
    config = TrainingConfig.for_dataset(dataset)
    few = dataclasses.replace(config.course, steps=MEASURED * config.course.evaluate_every)
    began, times = time.process_time(), []
    train(
        dataset,
        dataclasses.replace(config, course=few),
        progress=lambda *_: times.append(time.process_time()),
    )
    seconds = (times[-1] - times[0]) / (MEASURED - 1)
    print(
        f"  {times[0] - began:.0f} s CPU to encode, compile and take the first "
        f"{few.evaluate_every} of {config.course.steps} steps, then "
        f"{few.evaluate_every / seconds:.0f} steps/s"
    )


def measure(program: str, *arguments: str) -> tuple[float, float]:
    """Return the seconds of CPU time and the MiB that a program takes; print what it prints."""
    # Not ru_maxrss, which starts with the memory of the parent.
    tell = (
        "; import re, time; from pathlib import Path; "
        "peak = re.search(r'VmHWM:\\s+(\\d+) kB', Path('/proc/self/status').read_text())[1]; "
        "print(time.process_time(), int(peak) / 1024)"
    )
    start = "import sys, numpy; "
    done = subprocess.run(
        [sys.executable, "-c", start + program + tell, *arguments],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
    )
    *lines, last = done.stdout.splitlines()
    print("".join(f"{line}\n" for line in lines), end="")
    seconds, megabytes = map(float, last.split())
    return seconds, megabytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--only", choices=["load_dataset", "train", "predict_file"])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        table, net = Path(directory) / "table.csv", Path(directory) / "net.trilut"
        began = time.monotonic()
        write_table(table, args.rows, args.columns)
        write_netlist(net, args.columns)
        size = table.stat().st_size / 2**20
        print(f"{args.rows} rows of {args.columns} numbers, {size:.0f} MiB, ", end="")
        print(f"written in {time.monotonic() - began:.0f} s")
        array = args.rows * args.columns * 8 / 2**20
        _, base = measure("pass")
        programs = {"load_dataset": _LOAD, "train": _TRAIN, "predict_file": _PREDICT}
        if args.columns == 50:
            programs["numpy.loadtxt"] = _NUMPY
        for name, program in programs.items():
            if args.only not in (None, name):
                continue
            seconds, megabytes = measure(program, str(table), str(net))
            print(
                f"{name:14}{seconds:8.1f} s CPU, {size / seconds:6.1f} MiB/s, "
                f"{megabytes - base:7.0f} MiB above Python, {(megabytes - base) / array:5.2f} "
                f"times the numbers as an array ({array:.0f} MiB)"
            )


if __name__ == "__main__":
    main()

"""Hardened test accuracy of trained circuits: the rows of training_rows.py, some seeds each.

A training is kept under build/bench-training/ROW/SEED, and goes on if it was interrupted. Its
result goes to docs/training-results.json. What is there with the same settings is not trained
again, so that the table can be made in several sittings and on several machines.

Run: python benchmarks/training_accuracy.py [--only mnist-1k,digits] [--seeds N] [--quick]
"""

import argparse
import dataclasses
import json
import os
import platform
import statistics
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
from training_rows import FAMILIES, ROWS, Row

import trilut
from trilut.app.console import stages
from trilut.circuit.encoder import Encoder
from trilut.circuit.format import save
from trilut.data import Dataset, load_dataset
from trilut.errors import TrilutError
from trilut.files import make_directory, write_atomically
from trilut.training import (
    Measurement,
    TrainingConfig,
    TrainingResult,
    equal_information,
    fit_encoder,
    measure_encoding,
    train,
)

RUNS = Path("build/bench-training")
PAGE = Path("docs/training-results.md")

INTRODUCTION = """
Written by `make bench-training` (benchmarks/training_accuracy.py; the settings are in
benchmarks/training_rows.py). Accuracy is that of the hardened circuit on the test set, in per cent,
mean ± standard deviation over the seeds, which differ in wiring, gates, batches and the split of
the samples. *Soft* is the training forward, and the *gap* is soft minus hardened. Settings were
chosen by validation accuracy: of the synthetic rows and of digits over the seeds, of the larger
images in a few trainings with one seed, which leaves room. CPU-seconds are
those of one training with everything: encoding, compilation, measurements.
"""

# How far below the ceiling a circuit may be, in points.
_NEAR = 0.5

ABOUT_SYNTHETIC = """
*Cell vote* is the accuracy of the most frequent class of each input cell of the training set, the
fair measure of what an encoder allows. The *ceiling* lets the test set vote itself, which is too
high where a cell has few samples. DLGN has the same layers and steps, with the same number of
binary thresholds, and with as many as tell the same as the trits do.
"""

Result = dict[str, Any]
"""What result.json says of one training."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="ROW,…", help="rows, families of rows, or data sets")
    parser.add_argument("--seeds", metavar="N", type=int, help="seeds of each row, at most its own")
    parser.add_argument("--seed", metavar="K", type=int, help="this seed only")
    parser.add_argument(
        "--quick", action="store_true", help="one seed, 50 steps: does it run at all?"
    )
    parser.add_argument("--table", action="store_true", help="only write the table, train nothing")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, help=f"default: {RUNS}")
    args = parser.parse_args()
    runs = args.output or (RUNS.with_name("bench-training-quick") if args.quick else RUNS)
    page = runs / PAGE.name if args.quick or args.output else PAGE
    kept = Kept(page.with_suffix(".json"))
    rows = [shortened(row) if args.quick else row for row in ROWS if wanted(row, args.only)]
    if not rows:
        parser.error(f"no row is called {args.only!r}")
    all_rows = [shortened(row) if args.quick else row for row in ROWS]
    if not args.table:
        # All rows with one seed come first: a table cut short is then broad rather than deep.
        for seed in range(max(row.seeds for row in rows)):
            for row in rows:
                is_wanted = seed < min(row.seeds, args.seeds or row.seeds)
                if is_wanted and args.seed in (None, seed) and kept.find(row, seed) is None:
                    run(row, seed, runs, kept)
                    write_table(kept, page, all_rows)
    write_table(kept, page, all_rows)


def wanted(row: Row, only: str | None) -> bool:
    return only is None or bool({row.name, row.family, row.dataset} & set(only.split(",")))


def shortened(row: Row) -> Row:
    settings = {**row.settings, "steps": 50, "evaluate_every": 25}
    return dataclasses.replace(row, settings=settings, seeds=1)


class Kept:
    """Results of trainings by row and seed, in a file that is part of the documentation."""

    def __init__(self, path: Path):
        self._path = path
        self._rows: dict[str, dict[str, Result]] = self._read()

    def _read(self) -> dict[str, dict[str, Result]]:
        return json.loads(self._path.read_text()) if self._path.exists() else {}

    def find(self, row: Row, seed: int) -> Result | None:
        """Return the result of a training, if it was made with the settings of its row."""
        result = self._rows.get(row.name, {}).get(str(seed))
        return result if result is not None and result["key"] == key(row) else None

    def of(self, row: Row) -> list[Result]:
        """Return the results of all seeds of a row."""
        found = (self.find(row, seed) for seed in range(row.seeds))
        return [result for result in found if result is not None]

    def add(self, row: Row, seed: int, result: Result) -> None:
        """Write a result down, beside those that other trainings have written meanwhile."""
        self._rows = self._read()
        self._rows.setdefault(row.name, {})[str(seed)] = result
        write_atomically(self._path, json.dumps(self._rows, indent=1, sort_keys=True) + "\n")


def run(row: Row, seed: int, runs: Path, kept: Kept) -> None:
    """Train once, and keep the result."""
    directory = make_directory(runs / row.name / str(seed))
    dataset = load_dataset(row.dataset, seed=seed)
    config = TrainingConfig.for_dataset(dataset, seed=seed, **row.settings)
    forget_other_settings(directory, config)
    encoder = row_encoder(row, dataset, config)
    clock = Clock(directory / "seconds.json")
    with stages() as show:
        stage = show.start(f"{row.name} seed {seed}")

        def progress(measured: Measurement, steps: int) -> None:
            clock.save()
            text = f"loss {measured['loss']:.3f}, validation {measured['accuracy']:.2%}"
            stage.update(measured["step"], steps, text, unit="step")

        trained = train(
            dataset, config, encoder=encoder, progress=progress, directory=directory, resume=True
        )
        stage.finish(f"validation {trained.hardened.validation:.2%}")
    clock.save()
    save(trained.netlist, directory / "net.trilut")
    kept.add(row, seed, describe(row, dataset, trained, clock.seconds))
    for checkpoint in directory.glob("checkpoint*"):
        checkpoint.unlink()


def forget_other_settings(directory: Path, config: TrainingConfig) -> None:
    """Remove what a training with other settings has left, which this one cannot go on from."""
    settings = json.dumps(config.settings, indent=2) + "\n"
    path = directory / "config.json"
    if path.exists() and path.read_text() == settings:
        return
    for left in directory.iterdir():
        left.unlink()
    write_atomically(path, settings)


def row_encoder(row: Row, dataset: Dataset, config: TrainingConfig) -> Encoder | None:
    """Return the encoder of a row that does not have the one of its settings."""
    if row.equal_information is None:
        return None
    ternary = fit_encoder(
        dataset.train.x,
        dataset.feature_names,
        thresholds=config.encoding.thresholds,
        delta=row.equal_information,
    )
    return equal_information(ternary)


class Clock:
    """Processor time of a training, with that of the sittings before."""

    def __init__(self, path: Path):
        self._path = path
        self._before = json.loads(path.read_text()) if path.exists() else 0.0
        self._start = time.process_time()

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return self._before + time.process_time() - self._start

    def save(self) -> None:
        """Write them down for the next sitting."""
        write_atomically(self._path, json.dumps(self.seconds))


def describe(row: Row, dataset: Dataset, trained: TrainingResult, seconds: float) -> Result:
    config, encoder = trained.config, trained.netlist.encoder
    assert encoder is not None
    result = {
        "key": key(row),
        "hardened": dataclasses.asdict(trained.hardened),
        "soft": dataclasses.asdict(trained.soft),
        "gates": sum(config.network.layers),
        "inputs": encoder.num_trits,
        "steps": config.course.steps,
        "cpu_seconds": seconds,
        "versions": versions(),
    }
    if row.family == "synthetic":
        result["encoding"] = dataclasses.asdict(measure_encoding(encoder, dataset))
    return result


def key(row: Row) -> Any:
    """Return what a result has to have been made with to count for a row."""
    return json.loads(json.dumps([row.dataset, row.settings, row.equal_information]))


def versions() -> dict[str, str]:
    return {
        "trilut": trilut.__version__,
        "jax": jax.__version__,
        "python": platform.python_version(),
        "machine": f"{processor()}, {os.cpu_count()} cores",
    }


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def write_table(kept: Kept, page: Path, rows: Sequence[Row]) -> None:
    """Write what has been measured as Markdown."""
    results = {row.name: kept.of(row) for row in rows}
    lines = [*introduction(results), *synthetic_table(results)]
    for family in FAMILIES[1:]:
        lines += family_table([row for row in rows if row.family == family], results)
    missing = [row.name for row in rows if not results[row.name]]
    if missing:
        lines += wrapped(f"Not measured yet: {', '.join(missing)}.")
    write_atomically(page, "\n".join(lines).rstrip() + "\n")
    print(f"{page}: {len(rows) - len(missing)} rows")


def wrapped(text: str) -> list[str]:
    return textwrap.wrap(text.strip(), 105)


def introduction(results: dict[str, list[Result]]) -> list[str]:
    made_with = {
        f"{used['machine']}, JAX {used['jax']}, Python {used['python']}, TriLUT {used['trilut']}"
        for found in results.values()
        for used in (result["versions"] for result in found)
    }
    return [
        "# Accuracy of trained circuits",
        "",
        *wrapped(INTRODUCTION),
        "",
        *(f"Machine: {line}." for line in sorted(made_with)),
        "",
    ]


def family_table(rows: list[Row], results: dict[str, list[Result]]) -> list[str]:
    rows = [row for row in rows if results[row.name]]
    if not rows:
        return []
    lines = [
        f"## {rows[0].dataset}",
        "",
        "| row | gates | inputs | steps | seeds | hardened test | soft | gap | validation "
        "| wanted | CPU-s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        found = results[row.name]
        hardened, soft = percents(found, "hardened", "test"), percents(found, "soft", "test")
        gap = [s - h for s, h in zip(soft, hardened, strict=True)]
        cells = [
            row.name,
            str(found[0]["gates"]),
            str(found[0]["inputs"]),
            str(found[0]["steps"]),
            str(len(found)),
            f"**{spread(hardened)}**",
            spread(soft),
            f"{statistics.mean(gap):.2f}",
            spread(percents(found, "hardened", "validation")),
            verdict(statistics.mean(hardened), row.target),
            f"{statistics.mean(result['cpu_seconds'] for result in found):.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    notes = [f"`{row.name}`: {row.note}." for row in rows if row.note]
    return [*lines, "", *notes, *([""] if notes else [])]


def percents(found: list[Result], what: str, split: str) -> list[float]:
    return [100 * result[what][split] for result in found]


def spread(values: list[float]) -> str:
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"


def verdict(reached: float, target: float | None) -> str:
    if target is None:
        return "–"
    return f"{target:.4g}: {'yes' if reached >= target else f'{target - reached:.2f} short'}"


def synthetic_table(results: dict[str, list[Result]]) -> list[str]:
    """Return the table of `hard` beside what its encoder allows, and DLGN on the same data."""
    lines = [
        "## Synthetic",
        "",
        *wrapped(ABOUT_SYNTHETIC),
        "",
        "| data | δ | hard | cell vote | hard − vote | ceiling | hard − ceiling "
        f"| at most {_NEAR} below | DLGN, equal thresholds | DLGN, equal information | seeds |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    head = len(lines)
    for row in ROWS:
        if row.family != "synthetic" or "delta" not in row.settings or not results[row.name]:
            continue
        found = results[row.name]
        hard = percents(found, "hardened", "test")
        vote = [100 * result["encoding"]["cell_vote"] for result in found]
        ceiling = [100 * result["encoding"]["ceiling"] for result in found]
        rivals = (results[f"{row.dataset}-dlgn"], results[f"{row.name}-dlgn"])
        cells = [
            row.dataset,
            f"{row.settings['delta']:g}",
            f"**{spread(hard)}**",
            spread(vote),
            f"{statistics.mean(hard) - statistics.mean(vote):+.2f}",
            spread(ceiling),
            f"{statistics.mean(hard) - statistics.mean(ceiling):+.2f}",
            verdict(statistics.mean(hard), statistics.mean(ceiling) - _NEAR),
            *(spread(percents(rival, "hardened", "test")) if rival else "–" for rival in rivals),
            str(len(found)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""] if len(lines) > head else []


if __name__ == "__main__":
    try:
        main()
    except TrilutError as error:
        sys.exit(f"error: {error}")

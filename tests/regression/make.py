"""Make the netlists of this directory, and what the reference says about each.

They are committed: a change of training must not change what the hardware is tested with. Run it
again only for a new kind of netlist: python tests/regression/make.py [NAME ...]
"""

import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from trilut import Encoder, Feature, Head, Netlist, load, save, sim
from trilut.circuit.gates import NAMED_GATES
from trilut.data import load_dataset
from trilut.data.dataset import Dataset, Split
from trilut.training import TrainingConfig, train

HERE = Path(__file__).parent
EXPECTED = HERE / "expected.json"


def trained(dataset: Dataset, **settings: object) -> Netlist:
    return train(dataset, TrainingConfig.for_dataset(dataset, **settings)).netlist


def with_gaps(dataset: Dataset) -> Dataset:
    """Return a data set in which every tenth value is missing."""

    def gaps(split: Split, seed: int) -> Split:
        missing = np.random.default_rng(seed).random(split.x.shape) < 0.1
        return Split(np.where(missing, np.nan, split.x), split.y)

    return replace(
        dataset,
        train=gaps(dataset.train, 0),
        validation=gaps(dataset.validation, 1),
        test=gaps(dataset.test, 2),
    )


def bare(table: list[object], outputs: list[int]) -> Netlist:
    """Return two features, one trit each, in front of a few gates that all read both."""
    features = (Feature("x", 4), Feature("y", 5, signed=True))
    return Netlist.of_gates(
        2,
        np.array(table, dtype=np.int8).reshape(len(table), 9),
        [0] * len(table),
        [1] * len(table),
        outputs,
        encoder=Encoder(features, [0, 1], [5, -3], [9, 4]),
        head=Head(("first", "second"), (len(outputs) // 2, len(outputs) - len(outputs) // 2)),
    )


KINDS: dict[str, Callable[[], Netlist]] = {
    "ternary_two_classes": lambda: trained(load_dataset("moons"), layers=(24, 24), steps=600),
    "binary_two_classes": lambda: trained(
        load_dataset("circles"), layers=(24, 24), steps=600, valence=2
    ),
    "dlgn_three_classes": lambda: trained(
        load_dataset("iris"), layers=(30, 30), steps=600, recipe="dlgn"
    ),
    "ternary_ten_classes": lambda: trained(load_dataset("digits"), layers=(120, 100), steps=1000),
    "learned_wiring": lambda: trained(
        load_dataset("digits"), layers=(100,), steps=1000, wiring="learned"
    ),
    "several_output_layers": lambda: trained(
        load_dataset("wine"), layers=(30, 30), steps=500, skip=True, output_layers=2
    ),
    "missing_features": lambda: trained(
        with_gaps(load_dataset("breast_cancer")), layers=(40, 30), steps=500
    ),
    "one_gate": lambda: bare([NAMED_GATES["and"]], [2, 0]),
    "zero_gates": lambda: bare([], [0, 1, 1]),
    "constant_outputs": lambda: bare([[value] * 9 for value in (-1, 0, 1)], [2, 3, 4, 4]),
}


def vectors(netlist: Netlist) -> dict[str, sim.Vectors]:
    return sim.stimulus(netlist, None, np.random.default_rng(0), num_random=300)


def reference_digest(netlist: Netlist) -> str:
    """Return a checksum of all decisions of the plain evaluator about the vectors."""
    hasher = hashlib.sha256()
    for group in vectors(netlist).values():
        decisions = sim.classify(netlist, group, engine="reference")
        for name in ("scores", "chosen", "margin", "unknown"):
            hasher.update(getattr(decisions, name).astype("<i8").tobytes())
    return hasher.hexdigest()


def main() -> None:
    for name in sys.argv[1:] or KINDS:
        save(KINDS[name](), HERE / f"{name}.trilut")
        print(name, flush=True)
    digests = {name: reference_digest(load(HERE / f"{name}.trilut")) for name in KINDS}
    EXPECTED.write_text(json.dumps(digests, indent=1) + "\n")


if __name__ == "__main__":
    main()

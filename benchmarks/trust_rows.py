"""Data sets, circuits and results that missing_features.py and trust.py have in common.

A circuit is trained once and kept in a directory; a result is kept in docs/trust-results.json, with
what it was made with. So a run that was interrupted goes on, and rows can be made in several
sittings and on several machines.
"""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from tables import load_table
from training_accuracy import versions

from trilut import Netlist
from trilut.circuit.encoder import Encoder
from trilut.circuit.format import load, save
from trilut.data import Dataset, Split, load_dataset
from trilut.files import make_directory, write_atomically
from trilut.training import TrainingConfig, equal_information, fit_encoder, train

RESULTS = Path("docs/trust-results.json")
DIRECTORY = Path("build/trust")

# Sizes at which all kinds of circuits are near the best that they reach, in a minute or less.
_LEARNED = {"layers": (1000,), "wiring": "learned", "batch": 128, "learning_rate": 0.05}
_TABLE = {"steps": 2000, "evaluate_every": 200}
SETS: dict[str, dict[str, Any]] = {
    "digits": {**_LEARNED, "steps": 3000, "evaluate_every": 250},
    # Chosen by the validation accuracy with features missing, over the seeds: 96.5 % (kleene 96.2),
    # where the defaults and one layer with bands of UNKNOWN have 95.1 % (94.2).
    "breast_cancer": {
        **_LEARNED,
        **{"layers": (200,), "steps": 1000, "evaluate_every": 100},
        **{"spacing": "balanced", "thresholds": 7, "delta": 0.0},
    },
    # Shifts would move what is filled in, too.
    "mnist": {**_LEARNED, "shift": 0, "steps": 4000, "evaluate_every": 500},
    "magic": _TABLE,
    "satimage": _TABLE,
    "spambase": _TABLE,
    "penbased": _TABLE,
}
TABLES = ("magic", "satimage", "spambase", "penbased")
SEEDS = 3
PREPARED = (0.0, 0.5)
FILLED_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)

# The learning rate of DLGN is the best of 0.01, 0.02, 0.05, 0.1 and 0.2 on validation sets.
RECIPES: dict[str, dict[str, Any]] = {
    "ternary": {},
    "kleene": {"vocabulary": "kleene"},
    "binary": {"valence": 2},
    "DLGN": {"recipe": "dlgn", "learning_rate": 0.05},
}
BINARY = ("binary", "DLGN")


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of circuit.

    Parameters
    ----------
    recipe : str
        One of :data:`RECIPES`.
    prepared : bool
        Whether it is trained with 0 to 50 % of the features missing, and chosen so.
    filled : bool
        Whether something in front of it puts the median in the place of a missing feature. A
        prepared one has been trained on copies that were filled so.
    certainty : float
        How far UNKNOWN outputs count against an answer.
    """

    recipe: str
    prepared: bool = True
    filled: bool = False
    certainty: float = 0.0

    def __str__(self) -> str:
        marks = {"prepared": self.prepared, "filled": self.filled, "certainty": self.certainty}
        return ", ".join([self.recipe, *(mark for mark, is_so in marks.items() if is_so)])


class Kept:
    """Results by part, data set, seed and name, in a file that is part of the documentation."""

    def __init__(self, path: Path):
        self._path = path

    def all(self) -> dict[str, Any]:
        """Return everything that is there."""
        return json.loads(self._path.read_text()) if self._path.exists() else {}

    def find(self, part: str, name: str, seed: int, row: str) -> Any:
        """Return a result, None if there is none."""
        return self.all().get(part, {}).get(name, {}).get(str(seed), {}).get(row)

    def add(self, part: str, name: str, seed: int, row: str, result: Any) -> None:
        """Write a result down, beside those that others have written meanwhile."""
        rows = self.all()
        own = rows.setdefault(part, {}).setdefault(name, {}).setdefault(str(seed), {})
        own[row] = result
        used = versions()
        made = f"{used['machine']}, JAX {used['jax']}, Python {used['python']}"
        rows["machines"] = sorted({*rows.get("machines", []), made})
        write_atomically(self._path, json.dumps(rows, indent=1, sort_keys=True) + "\n")


def load_set(name: str, seed: int) -> Dataset:
    """Return a data set, split by seed."""
    if name in TABLES:
        return load_table(name, seed)
    return load_dataset(name, seed=seed)


def median(dataset: Dataset) -> Any:
    """Return what is filled in, as a value that the features can have."""
    middle = np.median(dataset.train.x, axis=0)
    return middle.astype(dataset.train.x.dtype)


def circuit(
    name: str, dataset: Dataset, seed: int, kind: Kind, directory: Path, *, quick: bool = False
) -> Netlist:
    """Return a trained circuit, from the directory if it is there."""
    settings = {**SETS[name], **RECIPES[kind.recipe], "seed": seed}
    if kind.prepared and not kind.filled:
        settings["missing"] = PREPARED
    if kind.certainty:
        settings["certainty"] = kind.certainty
    if quick:
        settings |= {"steps": 50, "evaluate_every": 25}
    # The samples differ where a prepared one is filled, and so does the circuit.
    mark = json.dumps([settings, kind.prepared and kind.filled], sort_keys=True)
    digest = hashlib.sha256(mark.encode()).hexdigest()[:8]
    path = make_directory(directory) / f"{name}-{seed}-{kind.recipe}-{digest}.trilut"
    if path.exists():
        return load(path)
    encoder = told_as_much(name, dataset) if kind.recipe in BINARY else None
    samples = with_medians(dataset, seed) if kind.prepared and kind.filled else dataset
    config = TrainingConfig.for_dataset(dataset, **settings)
    netlist = train(samples, config, encoder=encoder).netlist
    save(netlist, path)
    return netlist


def told_as_much(name: str, dataset: Dataset) -> Encoder:
    """Return the binary encoder that tells what the ternary one does, UNKNOWN bands included."""
    encoding = TrainingConfig.for_dataset(dataset, **SETS[name]).encoding
    fitted = fit_encoder(dataset.train.x, dataset.feature_names, **dataclasses.asdict(encoding))
    return equal_information(fitted)


def with_medians(dataset: Dataset, seed: int) -> Dataset:
    """Return a data set to train on, with each sample once for each share of lost features."""
    middle = median(dataset)

    def with_losses(split: Split) -> Split:
        generator = np.random.default_rng(seed)
        copies = [
            np.where(generator.random(split.x.shape, dtype=np.float32) < share, middle, split.x)
            for share in FILLED_SHARES
        ]
        return Split(np.concatenate(copies), np.tile(split.y, len(FILLED_SHARES)))

    return dataclasses.replace(
        dataset, train=with_losses(dataset.train), validation=with_losses(dataset.validation)
    )

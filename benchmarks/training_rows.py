"""The trainings that benchmarks/training_accuracy.py measures, as data."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["FAMILIES", "ROWS", "Row"]


@dataclass(frozen=True)
class Row:
    """One configuration, trained with several seeds.

    Parameters
    ----------
    name : str
        What it is called in the table, on the command line and under ``build/``.
    family : str
        The table that it belongs to.
    dataset : str
    settings : dict
        Fields of TrainingConfig that differ from the data set's defaults.
    target : float, optional
        Hardened test accuracy to reach, in per cent.
    seeds : int
        Number of trainings, with the seeds 0, 1, …
    equal_information : float, optional
        Width of the UNKNOWN band of the ternary encoder whose thresholds a binary row gets, both of
        each trit.
    note : str
        What has to be known to read the figure.
    """

    name: str
    family: str
    dataset: str
    settings: dict[str, Any] = field(default_factory=dict)
    target: float | None = None
    seeds: int = 3
    equal_information: float | None = None
    note: str = ""


FAMILIES = ("synthetic", "digits", "mnist", "fashion", "cifar")

_SYNTHETIC = ("moons", "circles", "spirals", "gaussians", "ring_sector")
_RANDOM = {"wiring": "random", "minority": 0.02}
_LOCAL = {"wiring": "local", "window": 64, "minority": 0.02}
# Larger batches and a larger tau make the gradients less noisy: +2 pp each on CIFAR-10.
_CALM = {"batch": 256, "wire_every": 4, "wire_rate": 0.08}
# The second layer reads the inputs too, and both layers are outputs.
_TWO_LEARNED = {"skip": True, "output_layers": 2, "candidates": 512}


def _synthetic(dataset: str) -> Iterator[Row]:
    # Spirals have larger layers by default. Chosen by the mean over seeds at the last step.
    net = {} if dataset == "spirals" else {"layers": (64, 64, 32), "tau": 4.0}
    binary = {**net, "recipe": "dlgn"}
    for delta in (0.25, 0.5):
        name = f"{dataset}-{delta:g}"
        yield Row(name, "synthetic", dataset, {**net, "delta": delta})
        yield Row(f"{name}-dlgn", "synthetic", dataset, binary, equal_information=delta)
    yield Row(f"{dataset}-dlgn", "synthetic", dataset, binary)


ROWS: tuple[Row, ...] = (
    *(row for dataset in _SYNTHETIC for row in _synthetic(dataset)),
    Row(
        "digits-4k",
        "digits",
        "digits",
        {"layers": (4000,), "wiring": "learned", "steps": 4000, "batch": 128, "shift": 1},
        target=97.5,
    ),
    Row(
        "digits-1k",
        "digits",
        "digits",
        {"layers": (1000,), "wiring": "learned", "steps": 6000, "batch": 128},
    ),
    Row("digits-4k-random", "digits", "digits", {"layers": (1000,) * 4}),
    Row(
        "digits-4k-local",
        "digits",
        "digits",
        {"layers": (1000,) * 4, "wiring": "local", "window": 64},
        note="as digits-4k-random, but wires reach 64 values",
    ),
    Row("mnist-1k", "mnist", "mnist", {"layers": (1000,), "steps": 10_000}, target=96.5),
    Row(
        "mnist-4k",
        "mnist",
        "mnist",
        {**_TWO_LEARNED, "layers": (3000, 1000), "steps": 12_000},
        target=98.0,
    ),
    Row(
        "mnist-8k",
        "mnist",
        "mnist",
        {
            **{**_TWO_LEARNED, "layers": (6000, 2000), "batch": 256, "steps": 20_000},
            **{"wire_every": 4, "wire_rate": 0.04, "tau": 9.0, "tau_start": 36.0, "turn": 10.0},
        },
        target=98.5,
    ),
    Row(
        "mnist-4k-random",
        "mnist",
        "mnist",
        {**_RANDOM, "layers": (2000, 2000), "output_layers": 2, "steps": 10_000},
        target=94.5,
    ),
    Row(
        "mnist-4k-local",
        "mnist",
        "mnist",
        {**_LOCAL, "layers": (2000, 2000), "output_layers": 2, "steps": 10_000},
        note="as mnist-4k-random, but wires reach 64 values",
    ),
    Row(
        "mnist-12k-random",
        "mnist",
        "mnist",
        {**_RANDOM, "layers": (6000, 6000), "output_layers": 2, "steps": 10_000},
        target=96.5,
    ),
    Row(
        "mnist-48k-random",
        "mnist",
        "mnist",
        {**_RANDOM, "layers": (24_000, 24_000), "output_layers": 2, "steps": 10_000},
        target=97.5,
    ),
    Row(
        "fashion-8k",
        "fashion",
        "fashion_mnist",
        {"layers": (8000,), "thresholds": 2, "delta": 0.5, "steps": 10_000},
    ),
    Row(
        "cifar-8k",
        "cifar",
        "cifar10",
        {**_CALM, "layers": (8000,), "thresholds": 7, "tau": 28.0, "shift": 2, "steps": 12_000},
        target=55.1,
    ),
    Row(
        "cifar-48k-random",
        "cifar",
        "cifar10",
        {
            **{"layers": (24_000, 24_000), "output_layers": 2, "wiring": "random"},
            **{"shift": 2, "steps": 6000},
        },
        target=49.1,
    ),
    Row(
        "cifar-64k",
        "cifar",
        "cifar10",
        {
            **{**_CALM, "wire_every": 8, "wire_rate": 0.6, "candidates": 256, "shift": 2},
            **{"layers": (64_000,), "thresholds": 5, "delta": 1.0, "spacing": "quantile"},
            **{"learning_rate": 0.1, "tau": 112.0, "steps": 12_000},
        },
        target=57.7,
    ),
)

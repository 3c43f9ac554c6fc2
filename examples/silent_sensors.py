"""What becomes of the answers when sensors fall silent: wine, with more and more features missing.

A missing feature is UNKNOWN in every gate that reads it, and the circuit abstains where too little
is known. The binary circuit beside it has no UNKNOWN; a missing feature reads as lowest. Both have
been trained on samples that miss up to half of their features.

Run: python examples/silent_sensors.py
"""

import numpy as np

from trilut import Netlist
from trilut.data import load_dataset
from trilut.training import TrainingConfig, train


def right(netlist: Netlist, samples: np.ndarray, labels: np.ndarray) -> str:
    """Return how many answers are right, and how many samples get one."""
    decisions = netlist.classify(netlist.encoder.encode(samples))
    answered = ~decisions.unknown
    correct = np.mean(decisions.chosen[answered] == labels[answered])
    return f"{correct:6.1%} of {np.mean(answered):6.1%}"


def main() -> None:
    """Train both circuits and print a table."""
    wine = load_dataset("wine")
    ternary, binary = (
        train(wine, TrainingConfig.for_dataset(wine, recipe=recipe, missing=(0, 0.5))).netlist
        for recipe in ("hard", "dlgn")
    )
    generator = np.random.default_rng(0)
    samples, labels = np.repeat(wine.test.x, 20, axis=0), np.repeat(wine.test.y, 20)
    print("missing     ternary              binary   (right, of the samples that get an answer)")
    for share in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
        seen = np.where(generator.random(samples.shape) < share, np.nan, samples)
        print(f"{share:5.0%}   {right(ternary, seen, labels)}   {right(binary, seen, labels)}")


if __name__ == "__main__":
    main()

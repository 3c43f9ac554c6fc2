"""What the tests of boards share: vectors, and a serial line in the Amaranth simulator."""

import numpy as np
from circuits import random_netlist

from trilut.circuit.encoder import FeatureVectors


def small_net(seed=3, num_classes=3):
    return random_netlist(
        seed,
        num_inputs=18,
        num_gates=40,
        num_outputs=9,
        num_classes=num_classes,
        with_encoder=True,
    )


def random_vectors(encoder, count, seed=0, present=0.8):
    rng = np.random.default_rng(seed)
    values = rng.integers(
        [feature.minimum for feature in encoder.features],
        [feature.maximum for feature in encoder.features],
        (count, len(encoder.features)),
        endpoint=True,
    )
    valid = rng.random(values.shape) < present
    return FeatureVectors(np.where(valid, values, 0), valid)


def expected_answers(netlist, vectors):
    decisions = netlist.classify(netlist.encoder.trits(vectors))
    return list(
        zip(
            decisions.chosen.tolist(),
            decisions.margin.tolist(),
            decisions.unknown.tolist(),
            strict=True,
        )
    )


def line_bits(byte):
    return [0, *(byte >> bit & 1 for bit in range(8)), 1]

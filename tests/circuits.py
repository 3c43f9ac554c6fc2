"""Small circuits for the tests."""

import dataclasses
from pathlib import Path

import numpy as np

from trilut import Encoder, Feature, Head, Netlist
from trilut.circuit.gates import NAMED_GATES
from trilut.circuit.interface import (
    HeadOutput,
    Interface,
    VerilogModule,
    input_ports,
    output_ports,
)
from trilut.circuit.monotone import project


def random_netlist(
    seed: int,
    *,
    num_inputs: int,
    num_gates: int,
    num_outputs: int,
    valence: int = 3,
    num_classes: int = 0,
    with_encoder: bool = False,
    name: str = "net",
) -> Netlist:
    """Return a random DAG: any gate may read any net before it, outputs may be any net."""
    rng = np.random.default_rng(seed)
    own = num_inputs + np.arange(num_gates)
    choices = [-1, 1] if valence == 2 else [-1, 0, 1]
    return Netlist(
        num_inputs,
        rng.choice(choices, (num_gates, valence**2)).astype(np.int8),
        rng.integers(0, own),
        rng.integers(0, own),
        rng.integers(0, num_inputs + num_gates, num_outputs),
        valence=valence,
        encoder=random_encoder(seed, num_inputs, valence) if with_encoder else None,
        head=_head(num_classes, num_outputs) if num_classes else None,
        name=name,
    )


def random_encoder(seed: int, num_trits: int, valence: int = 3) -> Encoder:
    """Return an encoder of features with different widths and signs."""
    rng = np.random.default_rng(seed)
    num_features = max(1, num_trits // 2)
    features = tuple(
        Feature(f"f{index}", bits=3 + index % 6, signed=index % 2 == 1)
        for index in range(num_features)
    )
    feature = np.arange(num_trits) % num_features
    lowest = np.array([features[index].minimum for index in feature])
    highest = np.array([features[index].maximum for index in feature])
    thresholds = np.sort(rng.integers(lowest, highest + 1, (2, num_trits)), axis=0)
    low, high = thresholds if valence == 3 else (thresholds[0], thresholds[0])
    return Encoder(features, feature, low, high, missing=0 if valence == 3 else -1)


def _head(num_classes: int, num_outputs: int) -> Head:
    size, rest = divmod(num_outputs, num_classes)
    sizes = tuple(size + (index < rest) for index in range(num_classes))
    return Head(tuple(f"class {index}" for index in range(num_classes)), sizes, abstain_margin=2)


def verilog_module(
    netlist: Netlist, path: Path, top: str, latency: int, *, scores: bool = False
) -> VerilogModule:
    """Return a design of a netlist that somebody else wrote."""
    ports = input_ports(netlist.encoder, netlist.num_inputs)
    extra = [HeadOutput.SCORES] if scores else []
    results = output_ports(netlist.head, len(netlist.outputs), extra)
    return VerilogModule(path, top, Interface(ports, results, latency))


def monotone_netlist(seed: int, **settings: object) -> Netlist:
    """Return a random netlist whose gates are information-monotone, most as decided as can be."""
    net = random_netlist(seed, **settings)  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    corners = rng.choice([-1, 1, 1, -1, 0], (net.num_gates, 2, 2))
    # Between two equal corners stands the same, if anything.
    wide = np.insert(corners, 1, np.where(corners[:, 0] == corners[:, 1], corners[:, 0], 0), axis=1)
    full = np.insert(wide, 1, np.where(wide[:, :, 0] == wide[:, :, 1], wide[:, :, 0], 0), axis=2)
    return dataclasses.replace(net, table=project(full.reshape(-1, 9)))


def voting_netlist(
    features: tuple[Feature, ...], thresholds: np.ndarray, width: int, **settings: object
) -> Netlist:
    """Return a monotone circuit of two classes: features that are high vote for the first.

    There are as many thresholds on each feature, UNKNOWN within ``width`` of each.
    """
    feature = np.repeat(np.arange(len(features)), thresholds.shape[1])
    low, high = thresholds.ravel() - width, thresholds.ravel() + width
    count = len(feature)
    return Netlist(
        count,
        np.repeat(NAMED_GATES["not_a"][None], count, axis=0),
        np.arange(count),
        np.arange(count),
        np.arange(2 * count),
        encoder=Encoder(features, feature, low, high),
        head=Head(("high", "low"), (count, count)),
        **settings,  # type: ignore[arg-type]
    )

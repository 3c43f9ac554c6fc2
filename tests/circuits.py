"""Small circuits for the tests."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilut import Encoder, Feature, Head, Netlist
from trilut.circuit.gates import NAMED_GATES
from trilut.circuit.interface import (
    HeadOutput,
    Interface,
    VerilogModule,
    input_ports,
    output_ports,
)
from trilut.circuit.kinds import Kind
from trilut.circuit.monotone import project
from trilut.circuit.shapes import row_values


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
    return Netlist.of_gates(
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


def random_nodes(
    seed: int,
    *,
    num_inputs: int,
    num_gates: int,
    num_outputs: int,
    num_classes: int = 0,
    scores: bool = False,
    with_encoder: bool = False,
    shapes: tuple[str, ...] = ("bbbbbb", "ttt", "ttbb", "tt", "bt", "b", "t", "bbbb", "bbbbb"),
) -> Netlist:
    """Return a random DAG of bits and trits whose gates read what a shape says, as far as it goes.

    Half of the inputs are bits. With scores the last gates are scores, one for each output.
    """
    rng = np.random.default_rng(seed)
    kinds = [Kind.BIT if net % 2 else Kind.TRIT for net in range(num_inputs)]
    sources, tables = [], []
    for gate in range(num_gates):
        is_score = scores and gate >= num_gates - num_outputs
        wanted = str(rng.choice(list(shapes)))
        readable = {
            letter: [net for net, kind in enumerate(kinds) if kind == of_letter]
            for letter, of_letter in {"b": Kind.BIT, "t": Kind.TRIT}.items()
        }
        row = [int(rng.choice(readable[letter])) for letter in wanted if readable[letter]]
        kind = Kind.SCORE if is_score else Kind(rng.choice([Kind.BIT, Kind.TRIT]))
        values = [value for value in kind.values if abs(value) <= 7]
        tables.append(rng.choice(values, np.prod([kinds[net] for net in row])))
        sources.append(row)
        kinds.append(kind)
    # Scores alone may be outputs where there are any.
    first = num_inputs + num_gates - num_outputs if scores else 0
    outputs = (
        np.arange(first, first + num_outputs)
        if scores
        else rng.integers(0, len(kinds), num_outputs)
    )
    return Netlist(
        num_inputs,
        padded(tables, 0),
        padded(sources, -1),
        outputs,
        np.array(kinds, dtype=np.int8),
        encoder=_mixed_encoder(seed, kinds[:num_inputs]) if with_encoder else None,
        head=_head(num_classes, num_outputs, 7 if scores else 1) if num_classes else None,
    )


def all_trits(netlist: Netlist) -> NDArray[np.int8]:
    """Return every input [sample, input] of a netlist without looking at its encoder."""
    return row_values(netlist.kinds[: netlist.num_inputs].tolist())


def padded(rows: Sequence[Sequence[int]], fill: int) -> NDArray[np.int64]:
    """Return rows of different lengths as one array."""
    width = max(map(len, rows), default=0)
    return np.array([[*row, *[fill] * (width - len(row))] for row in rows]).reshape(-1, width)


def _mixed_encoder(seed: int, kinds: list[Kind]) -> Encoder:
    encoder = random_encoder(seed, len(kinds))
    is_bit = np.array(kinds) == Kind.BIT
    low = np.where(is_bit, encoder.high, encoder.low)
    return dataclasses.replace(encoder, low=low, missing=-is_bit.astype(np.int8))


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


def _head(num_classes: int, num_outputs: int, limit: int = 1) -> Head:
    size, rest = divmod(num_outputs, num_classes)
    sizes = tuple(size + (index < rest) for index in range(num_classes))
    names = tuple(f"class {index}" for index in range(num_classes))
    return Head(names, sizes, abstain_margin=2, limit=limit)


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
    return Netlist.of_gates(
        count,
        np.repeat(NAMED_GATES["not_a"][None], count, axis=0),
        np.arange(count),
        np.arange(count),
        np.arange(2 * count),
        encoder=Encoder(features, feature, low, high),
        head=Head(("high", "low"), (count, count)),
        **settings,  # type: ignore[arg-type]
    )

"""Functional coverage: which rows of the gates' tables a set of vectors makes occur."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.kinds import NO_NET
from trilut.circuit.netlist import Netlist
from trilut.circuit.reach import observed_rows, reachable_rows
from trilut.circuit.shapes import row_values
from trilut.sim import Vectors
from trilut.verify.proof import specification
from trilut.verify.proof.aig import Aig
from trilut.verify.proof.inputs import Inputs, example_words
from trilut.verify.proof.sweep import Sweeper

__all__ = ["Coverage", "direct", "measure_coverage"]

_BATCH_BYTES = 1 << 26
_NUM_SHOWN = 5
Rows = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a circuit some vectors exercise.

    Parameters
    ----------
    num_rows : int
        Rows of all tables that can occur, as far as is known.
    num_covered : int
        Those that do occur.
    num_proven_unreachable : int
        Rows that were thought to be possible until a proof said no.
    num_directed : int
        Vectors that were made to cover a row.
    uncovered : tuple of (int, int)
        The first gates and rows that do not occur, though they may be possible.
    """

    num_rows: int
    num_covered: int
    num_proven_unreachable: int
    num_directed: int
    uncovered: tuple[tuple[int, int], ...]

    @property
    def share(self) -> float:
        """Share of the rows that occur."""
        return self.num_covered / self.num_rows if self.num_rows else 1.0


def measure_coverage(
    netlist: Netlist, vectors: Mapping[str, Vectors], *, max_questions: int = 300
) -> tuple[Coverage, Vectors | None]:
    """Count the rows that vectors cover, and make more vectors for those that they do not.

    Parameters
    ----------
    netlist : Netlist
        The circuit.
    vectors : mapping
        Groups of vectors.
    max_questions : int
        Rows to ask a SAT solver about: it gives a vector, or proves that there is none.

    Returns
    -------
    coverage, directed
        The coverage with the directed vectors, which are None if there are none.
    """
    possible = reachable_rows(netlist)
    covered = np.zeros_like(possible)
    for group in vectors.values():
        covered |= _rows(netlist, group)
    directed, impossible = direct(netlist, possible & ~covered, max_questions)
    for group in directed:
        covered |= _rows(netlist, group)
    possible = possible & ~impossible
    missed = np.argwhere(possible & ~covered)
    coverage = Coverage(
        int(possible.sum()),
        int((possible & covered).sum()),
        int(impossible.sum()),
        len(directed),
        tuple((int(gate), int(row)) for gate, row in missed[:_NUM_SHOWN]),
    )
    return coverage, _joined(directed)


def direct(netlist: Netlist, wanted: Rows, max_questions: int) -> tuple[list[Vectors], Rows]:
    """Return vectors that make rows occur, and the rows that none can make occur."""
    aig = Aig()
    inputs = Inputs(aig, netlist)
    nets = specification.gates(aig, netlist, inputs.trits)
    sweeper = Sweeper(aig)
    found: list[Vectors] = []
    impossible = np.zeros_like(wanted)
    wanted = wanted.copy()
    for gate, row in np.argwhere(wanted)[:max_questions].tolist():
        if not wanted[gate, row]:
            continue
        sources = netlist.sources[gate]
        sources = sources[sources != NO_NET]
        values = row_values(netlist.kinds[sources].tolist())[row]
        example = sweeper.example(
            [
                specification.cases(aig, nets[net])[value + 1]
                for net, value in zip(sources.tolist(), values.tolist(), strict=True)
            ]
        )
        if example is None:
            impossible[gate, row] = True
            continue
        vector = inputs.vector(aig.simulate(example_words(example)), 0)
        found.append(vector)
        wanted &= ~_rows(netlist, vector)
    return found, impossible


def _rows(netlist: Netlist, vectors: Vectors) -> Rows:
    """Return the rows that occur; in batches, for every net of every vector takes a byte."""
    rows = np.zeros(netlist.table.shape, dtype=np.bool_)
    size = max(1, _BATCH_BYTES // netlist.num_nets)
    for start in range(0, len(vectors), size):
        part = vectors[start : start + size]
        if isinstance(part, FeatureVectors):
            assert netlist.encoder is not None
            part = netlist.encoder.trits(part)
        rows |= observed_rows(netlist, part)
    return rows


def _joined(groups: Iterable[Vectors]) -> Vectors | None:
    groups = list(groups)
    if not groups:
        return None
    features = [group for group in groups if isinstance(group, FeatureVectors)]
    if features:
        return FeatureVectors.concatenate(features)
    return np.concatenate([group for group in groups if not isinstance(group, FeatureVectors)])

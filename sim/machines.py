"""Whether two circuits with state do the same, by all states that they can be in together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.interface import Vectors
from trilut.circuit.netlist import Netlist
from trilut.circuit.sequential import Circuit, SequentialNetlist
from trilut.errors import NetlistError
from trilut.sim.bench.stimulus import step_stimulus
from trilut.sim.engines.dispatch import evaluate
from trilut.sim.equivalence import (
    Comparison,
    all_shared_inputs,
    check_comparable,
    compare,
    inputs_of,
    num_shared_inputs,
)
from trilut.sim.sequences import run_steps

__all__ = [
    "MAX_INPUTS",
    "MAX_STEPS",
    "MachineComparison",
    "SequenceExample",
    "compare_circuits",
    "compare_machines",
]

MAX_STEPS = 1 << 24
"""The most steps, one for each input in each pair of states, that are all tried."""

MAX_INPUTS = 1 << 16
"""The most inputs that are all tried in each pair of states."""


@dataclass(frozen=True, slots=True)
class SequenceExample:
    """A sequence at whose last step two circuits differ.

    Parameters
    ----------
    inputs : tuple of tuple of (int or None)
        The integer of each feature at each step, None where it is missing; or trits.
    outputs : tuple of int
        The outputs that differ.
    first, second : tuple of int
        What the two circuits have there.
    """

    inputs: tuple[tuple[int | None, ...], ...]
    outputs: tuple[int, ...]
    first: tuple[int, ...]
    second: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MachineComparison:
    """The result of a comparison of circuits with state.

    Parameters
    ----------
    counterexample : SequenceExample or None
        A sequence on which they differ, if one was found; if all states were tried, a shortest one.
    num_pairs : int
        Number of pairs of states that they were seen in together.
    num_inputs : int
        Number of different inputs that were tried in each of them.
    exhaustive : bool
        Whether these are all there are: without a counterexample, the circuits are equal.
    """

    counterexample: SequenceExample | None
    num_pairs: int
    num_inputs: int
    exhaustive: bool

    def rows(self) -> dict[str, str]:
        """Describe the comparison."""
        tried = f"{self.num_pairs:,} pairs of states × {self.num_inputs:,} inputs"
        if self.counterexample is None:
            verdict = "equal" if self.exhaustive else "no difference found"
            return {"verdict": verdict, "tried": tried + (", all there are" * self.exhaustive)}
        found = self.counterexample
        steps = {
            f"step {step}": ", ".join(
                "missing" if value is None else str(value) for value in inputs
            )
            for step, inputs in enumerate(found.inputs)
        }
        outputs = {
            f"output {output}": f"{first} and {second}"
            for output, first, second in zip(found.outputs, found.first, found.second, strict=True)
        }
        return {"verdict": "DIFFERENT", "tried": tried, **steps, **outputs}


def compare_circuits(
    a: Circuit, b: Circuit, *, num_random: int = 100_000, seed: int = 0
) -> Comparison | MachineComparison:
    """Look for an input, or a sequence of inputs if they have state, on which circuits differ.

    Raises
    ------
    NetlistError
        If only one of them has state, or they have not the same inputs or outputs.
    """
    if isinstance(a, SequentialNetlist) and isinstance(b, SequentialNetlist):
        return compare_machines(a, b, num_random=num_random, seed=seed)
    if isinstance(a, Netlist) and isinstance(b, Netlist):
        return compare(a, b, num_random=num_random, seed=seed)
    raise NetlistError(f"Of netlists {a.name!r} and {b.name!r} only one has state")


def compare_machines(
    a: SequentialNetlist,
    b: SequentialNetlist,
    *,
    num_random: int = 100_000,
    seed: int = 0,
    limit: int = MAX_STEPS,
) -> MachineComparison:
    """Look for a sequence on which two circuits with state differ.

    From the resets on, all inputs that one of the two can tell apart are tried in all pairs of
    states that they reach together, the nearest first. If that takes more than ``limit`` steps,
    random sequences of :func:`trilut.sim.bench.stimulus.step_stimulus` follow.

    Raises
    ------
    NetlistError
        If the circuits do not take the same inputs, or have different numbers of outputs.
    """
    check_comparable(a, b)
    total = num_shared_inputs(a, b)
    if total > MAX_INPUTS:
        found = _sampled(a, b, num_random, seed)
        return MachineComparison(found, 0, 0, exhaustive=False)
    search = _Search(a, b)
    found, exhaustive = search.run(limit)
    if found is None and not exhaustive:
        found = _sampled(a, b, num_random, seed)
    return MachineComparison(found, len(search.parents), len(search.letters), exhaustive)


def _trits(netlist: SequentialNetlist, vectors: Vectors) -> NDArray[np.int8]:
    if not isinstance(vectors, FeatureVectors):
        return vectors
    assert netlist.encoder is not None
    return netlist.encoder.trits(vectors)


class _Search:
    """The pairs of states that two circuits reach together, breadth first."""

    def __init__(self, a: SequentialNetlist, b: SequentialNetlist):
        self._circuits = (a, b)
        batches = list(all_shared_inputs(a, b))
        trits = np.concatenate([np.hstack([_trits(a, each), _trits(b, each)]) for each in batches])
        # Inputs that are the same trits for both are one.
        _, first = np.unique(trits, axis=0, return_index=True)
        self._trits = np.split(trits[first], [a.num_inputs], axis=1)
        inputs = [inputs_of(batch, sample) for batch in batches for sample in range(len(batch))]
        self.letters = [inputs[index] for index in first.tolist()]
        # Where each pair of states was first reached from, and by which input.
        self.parents: list[tuple[int, int]] = [(-1, -1)]

    def run(self, limit: int) -> tuple[SequenceExample | None, bool]:
        """Return a shortest counterexample if there is one, and whether all pairs were tried."""
        start = np.concatenate([circuit.resets for circuit in self._circuits])
        known = {start.tobytes(): 0}
        frontier, first = start[None], 0
        num_steps = 0
        while len(frontier):
            num_steps += len(frontier) * len(self.letters)
            if num_steps > limit:
                return None, False
            outputs, nexts = self._step(frontier)
            for row in np.flatnonzero((outputs[0] != outputs[1]).any(axis=1))[:1]:
                return self._example(first, int(row), outputs), True
            first, frontier = len(known), self._new(nexts, known, first)
        return None, True

    def _step(self, states: NDArray[np.int8]) -> tuple[list[NDArray[np.int8]], NDArray[np.int8]]:
        """Return the outputs of both, and the next states, for each state and each input."""
        outputs, nexts = [], []
        parts = np.split(states, [self._circuits[0].num_states], axis=1)
        for circuit, trits, own in zip(self._circuits, self._trits, parts, strict=True):
            inputs = np.hstack([np.tile(trits, (len(own), 1)), np.repeat(own, len(trits), axis=0)])
            made, after = np.split(evaluate(circuit.core, inputs), [circuit.num_outputs], axis=1)
            outputs.append(made)
            nexts.append(after)
        return outputs, np.hstack(nexts)

    def _new(
        self, nexts: NDArray[np.int8], known: dict[bytes, int], first: int
    ) -> NDArray[np.int8]:
        """Return the states that were not known, and remember where they come from."""
        different, rows = np.unique(nexts, axis=0, return_index=True)
        fresh = []
        for states, row in zip(different, rows.tolist(), strict=True):
            if (key := states.tobytes()) not in known:
                known[key] = len(self.parents)
                pair, letter = divmod(row, len(self.letters))
                self.parents.append((first + pair, letter))
                fresh.append(states)
        return np.array(fresh, dtype=np.int8).reshape(len(fresh), nexts.shape[1])

    def _example(self, first: int, row: int, outputs: list[NDArray[np.int8]]) -> SequenceExample:
        pair, letter = divmod(row, len(self.letters))
        path, pair = [letter], first + pair
        while pair:
            pair, letter = self.parents[pair]
            path.append(letter)
        inputs = tuple(self.letters[letter] for letter in reversed(path))
        return _difference(inputs, outputs[0][row], outputs[1][row])


def _difference(
    inputs: tuple[tuple[int | None, ...], ...], first: NDArray[np.int8], second: NDArray[np.int8]
) -> SequenceExample:
    where = np.flatnonzero(first != second)
    return SequenceExample(
        inputs,
        tuple(where.tolist()),
        tuple(first[where].tolist()),
        tuple(second[where].tolist()),
    )


def _sampled(
    a: SequentialNetlist, b: SequentialNetlist, num_random: int, seed: int
) -> SequenceExample | None:
    """Return a difference in random sequences."""
    rng = np.random.default_rng(seed)
    # Each circuit has thresholds of its own to be near to.
    for netlist in (a, b):
        for steps in step_stimulus(netlist, None, rng, num_random=num_random // 2).values():
            first, second = (
                run_steps(circuit, _trits(circuit, steps.vectors), steps.last) for circuit in (a, b)
            )
            for step in np.flatnonzero((first != second).any(axis=1))[:1].tolist():
                ends = np.flatnonzero(steps.last[:step])
                start = int(ends[-1]) + 1 if len(ends) else 0
                inputs = [inputs_of(steps.vectors, each) for each in range(start, step + 1)]
                return _difference(tuple(inputs), first[step], second[step])
    return None

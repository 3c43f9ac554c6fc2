"""Circuits with state: a netlist that runs once a step and remembers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.circuit.arrays import frozen
from trilut.circuit.encoder import Encoder
from trilut.circuit.head import Head
from trilut.circuit.kinds import Kind
from trilut.circuit.limits import check_name
from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.circuit.reach import rows_from, values_from
from trilut.errors import DataError, NetlistError

__all__ = ["Circuit", "SequentialNetlist"]


@dataclass(frozen=True, eq=False, repr=False)
class SequentialNetlist:
    """A circuit with state, from a sequence of samples to an output for each of its steps.

    Parameters
    ----------
    core : Netlist
        What happens in one step: its last inputs are the states, its last outputs are the states of
        the next step. It has neither encoder nor head.
    resets : int8 array [state]
        The states at the first step of a sequence.
    encoder : Encoder, optional
        Makes the other inputs of the core from features.
    name : str
        A title for reports and the Verilog header; any text.
    provenance : mapping
        Where the circuit comes from; any JSON value, no meaning to the circuit.

    Raises
    ------
    NetlistError
        If states and resets do not fit the core, or the encoder does not.
    """

    core: Netlist
    resets: NDArray[np.int8]
    encoder: Encoder | None = None
    name: str = "net"
    provenance: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name(self.name, "the netlist")
        object.__setattr__(self, "resets", frozen(self.resets, np.int8, "Netlist 'resets'"))
        core = self.core
        if core.encoder is not None or core.head is not None:
            raise NetlistError("The core of a sequential netlist has an encoder or a head")
        if not (self.num_states < core.num_inputs and self.num_states < len(core.outputs)):
            raise NetlistError(
                f"Netlist has {self.num_states} states, but its core has {core.num_inputs} inputs "
                f"and {len(core.outputs)} outputs, expected more of both"
            )
        kinds = core.kinds[self.num_inputs : core.num_inputs]
        for state in np.flatnonzero(core.kinds[core.outputs[self.num_outputs :]] != kinds):
            raise NetlistError(f"State {state} is of another kind than its value of the next step")
        for kind in (Kind.BIT, Kind.TRIT):
            for state in np.flatnonzero((kinds == kind) & ~np.isin(self.resets, kind.values)):
                raise NetlistError(
                    f"State {state} has the reset {self.resets[state]}, expected {kind.text}"
                )
        if self.encoder is not None and self.encoder.num_trits != self.num_inputs:
            raise NetlistError(
                f"Encoder makes {self.encoder.num_trits} trits, "
                f"but the netlist has {self.num_inputs} inputs"
            )

    @property
    def num_states(self) -> int:
        """Number of states."""
        return len(self.resets)

    @property
    def num_inputs(self) -> int:
        """Number of inputs that are not states."""
        return self.core.num_inputs - self.num_states

    @property
    def num_outputs(self) -> int:
        """Number of outputs that are not states."""
        return len(self.core.outputs) - self.num_states

    @property
    def input_kinds(self) -> NDArray[np.int8]:
        """What each input is that is not a state."""
        return self.core.kinds[: self.num_inputs]

    @property
    def num_gates(self) -> int:
        """Number of gates of the core."""
        return self.core.num_gates

    @property
    def depth(self) -> int:
        """Number of gates on the longest path of the core."""
        return self.core.depth

    @property
    def head(self) -> Head | None:
        """The head of the core: it has none."""
        return self.core.head

    def run(self, trits: ArrayLike) -> NDArray[np.int8]:
        """Run sequences [sequence, step, input]; return their outputs [sequence, step, output].

        This is the meaning of a sequential netlist. Every other implementation is compared with it.
        """
        inputs = np.asarray(trits)
        if inputs.ndim != 3 or inputs.shape[2] != self.num_inputs:
            raise DataError(
                f"Sequences have shape {inputs.shape}, "
                f"expected (sequences, steps, {self.num_inputs})"
            )
        states = np.tile(self.resets, (len(inputs), 1))
        outputs = np.empty((*inputs.shape[:2], self.num_outputs), dtype=np.int8)
        for step in range(inputs.shape[1]):
            made = self.core.evaluate(np.concatenate([inputs[:, step], states], axis=1))
            outputs[:, step], states = np.split(made, [self.num_outputs], axis=1)
        return outputs

    def state_values(self) -> NDArray[np.bool_]:
        """Return which values [state, v + 1] each state can take, in any sequence.

        It is the least set that holds the resets and is closed under a step, net by net. A state of
        two values takes one flip-flop.
        """
        states = np.arange(-1, 2) == self.resets[:, None]
        while True:
            values = values_from(self.core, self._input_values(states))
            grown = states | values[self.core.outputs[self.num_outputs :]]
            if np.array_equal(grown, states):
                return states
            states = grown

    def core_rows(self) -> NDArray[np.bool_]:
        """Return a superset [gate, row] of the rows of the core's tables that can occur."""
        return rows_from(self.core, self._input_values(self.state_values()))

    def _input_values(self, states: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which values [input, v + 1] the inputs of the core can take, given the states."""
        inputs = np.ones((self.num_inputs, 3), dtype=np.bool_)
        inputs[:, 1] = self.input_kinds == Kind.TRIT
        return np.concatenate([inputs, states])

    @property
    def num_flip_flops(self) -> int:
        """Number of bits that hold the states: one for a state of two values, two for three."""
        return int((self.state_values().sum(axis=1) - 1).sum())

    def optimized(self) -> "SequentialNetlist":
        """Return a circuit that does the same with as few gates as are found; the states stay."""
        return replace(self, core=optimize(self.core).netlist)

    def __repr__(self) -> str:
        return (
            f"<SequentialNetlist {self.name!r}: {self.core.num_gates} gates, "
            f"{self.num_states} states, {self.num_inputs} inputs, {self.num_outputs} outputs>"
        )


Circuit = Netlist | SequentialNetlist
"""A circuit with or without state."""

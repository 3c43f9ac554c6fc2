"""Circuits with state, fast: all sequences at a time, step by step."""

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.sequential import SequentialNetlist
from trilut.sim.engines.fast import machine_of

__all__ = ["run_sequences", "run_steps"]


def run_sequences(
    netlist: SequentialNetlist,
    trits: NDArray[np.int8],
    states: NDArray[np.int8] | None = None,
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Run sequences [sequence, step, input]; return outputs and the states after the last step.

    It computes what :meth:`trilut.circuit.sequential.SequentialNetlist.run` computes.

    Parameters
    ----------
    states : int8 array [sequence, state], optional
        Where the sequences go on; by default they begin.
    """
    machine = machine_of(netlist.core)
    count, num_steps, _ = trits.shape
    inputs = np.empty((count, netlist.core.num_inputs), dtype=np.int8)
    inputs[:, netlist.num_inputs :] = netlist.resets if states is None else states
    made = np.empty((count, len(netlist.core.outputs)), dtype=np.int8)
    outputs = np.empty((count, num_steps, netlist.num_outputs), dtype=np.int8)
    for step in range(num_steps):
        inputs[:, : netlist.num_inputs] = trits[:, step]
        if not machine.evaluate(inputs, made):
            netlist.core.checked_inputs(inputs)
        outputs[:, step] = made[:, : netlist.num_outputs]
        inputs[:, netlist.num_inputs :] = made[:, netlist.num_outputs :]
    return outputs, inputs[:, netlist.num_inputs :]


def run_steps(
    netlist: SequentialNetlist, trits: NDArray[np.int8], last: NDArray[np.bool_]
) -> NDArray[np.int8]:
    """Run sequences that follow one another; return their outputs [step, output].

    The definition is asked, :meth:`trilut.circuit.sequential.SequentialNetlist.run`.

    Parameters
    ----------
    trits : int8 array [step, input]
        The inputs of all steps.
    last : bool array [step]
        Whether a step is the last one of its sequence.
    """
    lengths = np.diff(np.flatnonzero(np.concatenate([[True], last[:-1], [True]])))
    is_step = np.arange(lengths.max()) < lengths[:, None]
    padded = np.ones((*is_step.shape, trits.shape[1]), dtype=np.int8)
    padded[is_step] = trits
    return netlist.run(padded)[is_step]

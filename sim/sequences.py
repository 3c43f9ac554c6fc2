"""Circuits with state, fast: all sequences at a time, step by step."""

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.sequential import SequentialNetlist
from trilut.sim.engines.fast import machine_of

__all__ = ["run_sequences"]


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

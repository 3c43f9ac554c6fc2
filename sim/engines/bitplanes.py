"""Plane instructions in numpy: slower than the C kernel, and there is always numpy."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trilut.sim.engines.lut_program import Scores
from trilut.sim.engines.planes import FIRST_LUT, kernels, lut, lut_inputs
from trilut.sim.engines.program import NO_PLANE, Program

__all__ = ["evaluate", "run_gates"]

Words = NDArray[np.uint64]


def evaluate(program: Program, trits: NDArray[np.int8]) -> NDArray[np.int8]:
    """Evaluate valid input trits [sample, input]; return the outputs [sample, output].

    Each plane is held in memory for all samples at once.
    """
    num_words = -(-len(trits) // 64)
    planes = np.empty((program.num_planes, num_words), dtype=np.uint64)
    used = np.flatnonzero(program.inputs != NO_PLANE)
    values = trits.T[used]
    planes[program.inputs[used]] = _packed(values > 0)
    if program.planes_per_net == 2:
        planes[program.inputs[used] + 1] = _packed(values < 0)
    run_gates(program, planes)
    plus = _unpacked(planes[program.outputs], len(trits))
    if program.planes_per_net == 1:
        outputs = 2 * plus - 1
    else:
        outputs = plus - _unpacked(planes[program.outputs + 1], len(trits))
    if program.scores is not None:
        _set_scores(program.scores, program.outputs, planes, outputs)
    return outputs.T


def run_gates(program: Program, planes: Words) -> None:
    """Execute all instructions on planes [plane, word]."""
    constants = {"zero": np.uint64(0), "one": ~np.uint64(0)}
    known = kernels()
    ends = np.concatenate([[0], np.cumsum(program.runs[:, 1], dtype=np.int64)])
    for number, (start, end) in zip(program.runs[:, 0], pairwise(ends), strict=True):
        if number >= FIRST_LUT:
            rows = program.operands[start:end].reshape(-1, 9)
            _look_up(lut_inputs(int(number)), rows, planes)
            continue
        a, b, result = program.operands[start:end].T
        sources = {"ap": a, "am": a ^ 1, "bp": b, "bm": b ^ 1}
        kernel = known[number]
        bits = {leaf: planes[sources[leaf]] for leaf in kernel.leaves}
        planes[result] = kernel.apply({**constants, **bits})


def _look_up(num_inputs: int, operands: NDArray[np.uint32], planes: Words) -> None:
    """Execute LUTs of some number of inputs."""
    table = operands[:, 7] | operands[:, 8].astype(np.uint64) << np.uint64(32)
    inputs = [planes[source] for source in operands.T[:num_inputs]]
    # All ones where a row of the table is set.
    planes[operands[:, 6]] = lut(
        lambda row: -(table >> np.uint64(row) & np.uint64(1))[:, None], inputs
    )


def _set_scores(
    scores: Scores, first: NDArray[np.uint32], planes: Words, outputs: NDArray[np.int8]
) -> None:
    """Set the outputs [output, sample] that are scores."""
    for output in np.flatnonzero(scores.is_score):
        own = planes[first[output] : first[output] + scores.widths[output]]
        bits = _unpacked(own, outputs.shape[1])
        weights = np.int8(1) << np.arange(len(bits), dtype=np.int8)
        outputs[output] = scores.lowest[output] + weights @ bits


def _packed(bits: NDArray[np.bool_]) -> Words:
    """Pack bits [row, sample] into words [row, word]."""
    words = np.zeros((len(bits), -(-bits.shape[1] // 64) * 8), dtype=np.uint8)
    packed = np.packbits(bits, axis=1, bitorder="little")
    words[:, : packed.shape[1]] = packed
    return words.view("<u8")


def _unpacked(words: Words, num_samples: int) -> NDArray[np.int8]:
    octets = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    bits = np.unpackbits(octets, axis=1, count=num_samples, bitorder="little")
    return bits.view(np.int8)

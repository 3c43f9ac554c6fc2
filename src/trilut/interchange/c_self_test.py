"""The self-test of the C: inputs that it draws itself, and a checksum of the right answers."""

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import Encoder, FeatureVectors
from trilut.circuit.kinds import Kind
from trilut.circuit.monotone import is_monotone
from trilut.circuit.netlist import Netlist
from trilut.interchange import c_parts
from trilut.interchange.c_text import Integers, array
from trilut.sim.engines.dispatch import classify

__all__ = ["self_test"]

# More than the samples of one word, so that a rest is left.
_SAMPLES = 70


def self_test(netlist: Netlist) -> str:
    """Return the self-test of a netlist, with names and types still to be filled in."""
    encoder = netlist.encoder
    inputs: FeatureVectors | NDArray[np.int8]
    if encoder is None:
        tables, draws, inputs = _drawn_trits(netlist)
        places = {"NUM_INPUTS": "@NET@_NUM_INPUTS", "all_inputs": "inputs[0]", "present_array": ""}
    else:
        tables, draws, inputs = _tables(encoder), _DRAW_FEATURES, _drawn_features(encoder)
        places = {
            "NUM_INPUTS": "@NET@_NUM_FEATURES",
            "all_inputs": "inputs[0], present[0]",
            "present_array": "\n    static uint8_t present[@num_samples@][@NET@_NUM_FEATURES];",
        }
    has_head = netlist.head is not None
    places |= {
        "tables": tables,
        "draws": draws,
        "one_input": places["all_inputs"].replace("[0]", "[sample]"),
        "answer_type": "@net@_decision" if has_head else "int8_t",
        "per_sample": "1" if has_head else "@NET@_NUM_OUTPUTS",
        "mix": _mixing(netlist),
        "verb": "decide" if has_head else "evaluate",
        "num_samples": str(_SAMPLES),
        "expected": str(_checksum(_answers(netlist, inputs))),
    }
    text = c_parts.SELF_TEST
    for key, part in places.items():
        text = text.replace(f"@{key}@", part)
    return text


class _Draws:
    """The numbers that ``draw`` gives in C."""

    def __init__(self) -> None:
        self._state = 0

    def __call__(self) -> int:
        self._state = (self._state * 1664525 + 1013904223) & 0xFFFFFFFF
        return self._state


def _drawn_trits(netlist: Netlist) -> tuple[str, str, NDArray[np.int8]]:
    """Return tables and C that draws an input, and what it draws."""
    draw = _Draws()
    numbers = [[draw() for _ in range(netlist.num_inputs)] for _ in range(_SAMPLES)]
    drawn = np.array(numbers, dtype=np.int64)
    bits, trits = (drawn >> 31) * 2 - 1, (drawn >> 16) % 3 - 1
    bit, trit = "(draw(&state) >> 31) * 2", "(draw(&state) >> 16) % 3"
    is_bit = netlist.kinds[: netlist.num_inputs] == Kind.BIT
    tables, text = "", bit if is_bit.all() else trit
    if is_bit.any() and not is_bit.all():
        tables, text = f"{array('uint8_t', 'is_bit', is_bit)}\n\n", f"is_bit[i] ? {bit} : {trit}"
    text = f"            inputs[sample][i] = (@net@_value)((int32_t)({text}) - 1);"
    return tables, text, np.where(is_bit, bits, trits).astype(np.int8)


# Every second sample lacks an eighth of its features.
_DRAW_FEATURES = """\
            const uint32_t first = draw(&state), second = draw(&state);
            inputs[sample][i] = (@net@_value)((int64_t)(first >> shift[i]) + minimum[i]);
            present[sample][i] = sample % 2 == 0 || second >> 29 != 0;"""


def _tables(encoder: Encoder) -> str:
    """Return what makes a feature of a number of 32 bits."""
    minima = [feature.minimum for feature in encoder.features]
    kind = Integers(min(minima), max(minima)).type
    shifts = [32 - feature.bits for feature in encoder.features]
    return f"{array('uint8_t', 'shift', shifts)}\n{array(kind, 'minimum', minima)}\n\n"


def _drawn_features(encoder: Encoder) -> FeatureVectors:
    draw, features = _Draws(), encoder.features
    numbers = [[(draw(), draw()) for _ in features] for _ in range(_SAMPLES)]
    first, second = np.moveaxis(np.array(numbers, dtype=np.int64), 2, 0)
    shifts = np.array([32 - feature.bits for feature in features])
    minima = np.array([feature.minimum for feature in features])
    is_whole = np.arange(_SAMPLES)[:, None] % 2 == 0
    return FeatureVectors((first >> shifts) + minima, is_whole | (second >> 29 != 0))


def _mixing(netlist: Netlist) -> str:
    """Return C that adds an answer to the checksum, in the order of :func:`_answers`."""
    each = "    for (size_t c = 0; c < @NET@_NUM_CLASSES; c++)\n        hash = mixed(hash, answer->"
    if netlist.head is None:
        return (
            "    for (size_t output = 0; output < @NET@_NUM_OUTPUTS; output++)\n"
            "        hash = mixed(hash, answer[output]);"
        )
    lines = [f"{each}scores[c]);"]
    fields = ["chosen", "margin", "unknown"] + ["certain"] * is_monotone(netlist)
    lines += [f"    hash = mixed(hash, answer->{field});" for field in fields]
    if netlist.head.set_margin is not None:
        lines.append(f"{each}members[c]);")
    return "\n".join(lines)


def _answers(netlist: Netlist, inputs: FeatureVectors | NDArray[np.int8]) -> NDArray[np.int64]:
    """Return what the plain evaluator answers, as numbers [sample, number]."""
    if netlist.head is None:
        if isinstance(inputs, FeatureVectors):
            assert netlist.encoder is not None
            inputs = netlist.encoder.trits(inputs)
        return netlist.evaluate(inputs).astype(np.int64)
    decisions = classify(netlist, inputs, engine="reference", certain=is_monotone(netlist))
    columns = decisions.arrays().values()
    return np.concatenate([column.reshape(len(decisions), -1) for column in columns], axis=1)


def _checksum(numbers: NDArray[np.int64]) -> int:
    """Return FNV-1a over whole numbers."""
    result = 2166136261
    for number in numbers.ravel().tolist():
        result = ((result ^ (number & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
    return result

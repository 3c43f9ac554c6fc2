"""Waveforms of nets as a VCD file, for GTKWave, Surfer and the like."""

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.kinds import Kind
from trilut.circuit.netlist import Netlist
from trilut.circuit.trit import CODES
from trilut.errors import NetlistError
from trilut.extras import require
from trilut.files import write_atomically
from trilut.sim.probe import net_values
from trilut.text import one_line

__all__ = ["write_vcd"]

_SCORE_BITS = 4


def write_vcd(
    netlist: Netlist,
    samples: FeatureVectors | ArrayLike,
    path: str | Path,
    *,
    nets: Mapping[str, int] | None = None,
    period: int = 10,
) -> None:
    """Write the values of nets while samples follow each other.

    Each net is a vector of two bits, bit 1 = [v = +1] and bit 0 = [v = −1], as in the hardware; a
    score is a number of four bits in two's complement. If the netlist has a head, ``class``,
    ``margin`` and ``abstains`` are there too.

    Parameters
    ----------
    netlist : Netlist
        The circuit.
    samples : FeatureVectors or array
        As :func:`trilut.sim.classify` takes them; sample k stands from k·period on.
    path : path
        The file to write.
    nets : mapping from str to int, optional
        Names and numbers of nets; all inputs and outputs if not given.
    period : int
        Time between samples in nanoseconds.

    Raises
    ------
    ValueError
        If the period is not positive.
    NetlistError
        If there is no such net.
    DataError
        If the samples do not fit the netlist.
    ToolError
        If pyvcd is not installed.
    FormatError
        If the file cannot be written.
    """
    path = Path(path)
    if period < 1:
        raise ValueError(f"Period is {period} ns, expected at least 1")
    chosen = _ports(netlist) if nets is None else dict(nets)
    for name, number in chosen.items():
        if not 0 <= number < netlist.num_nets:
            raise NetlistError(
                f"Net {number}, named {name!r}, does not exist; "
                f"netlist {netlist.name!r} has {netlist.num_nets} nets"
            )
    values = net_values(netlist, samples)
    signals = {name: _coded(netlist, number, values[:, number]) for name, number in chosen.items()}
    signals |= _head_signals(netlist, values)
    write_atomically(path, _text(netlist.name, signals, len(values), period))


def _ports(netlist: Netlist) -> dict[str, int]:
    inputs = {f"in_{number}": number for number in range(netlist.num_inputs)}
    outputs = {f"out_{index}": number for index, number in enumerate(netlist.outputs.tolist())}
    return inputs | outputs


def _coded(
    netlist: Netlist, number: int, values: NDArray[np.int8]
) -> tuple[int, NDArray[np.int64]]:
    """Return the width of a net and its values as numbers."""
    if netlist.kinds[number] == Kind.SCORE:
        return _SCORE_BITS, values.astype(np.int64) % Kind.SCORE
    return 2, np.array([CODES[-1], CODES[0], CODES[1]])[values + 1]


def _head_signals(
    netlist: Netlist, values: NDArray[np.int8]
) -> dict[str, tuple[int, NDArray[np.int64]]]:
    """Return the width and the values of what the head says."""
    if netlist.head is None:
        return {}
    decisions = netlist.head.decide(netlist.head.scores(values[:, netlist.outputs]))
    margin_bits = (2 * max(netlist.head.group_sizes) * netlist.head.limit).bit_length()
    return {
        "class": ((len(netlist.head.classes) - 1).bit_length(), decisions.chosen),
        "margin": (margin_bits, decisions.margin),
        "abstains": (1, decisions.unknown.astype(np.int64)),
    }


def _text(
    title: str, signals: dict[str, tuple[int, NDArray[np.int64]]], num_samples: int, period: int
) -> str:
    require("vcd")
    from vcd import VCDWriter

    file = io.StringIO()
    comment = one_line(title.replace("$", ""))
    with VCDWriter(file, timescale="1 ns", comment=comment, date="") as writer:
        variables = [
            (writer.register_var("net", name, "wire", size=width, init="x"), values)
            for name, (width, values) in signals.items()
        ]
        for sample in range(num_samples):
            for variable, values in variables:
                writer.change(variable, sample * period, int(values[sample]))
        writer.close(num_samples * period)
    return file.getvalue()

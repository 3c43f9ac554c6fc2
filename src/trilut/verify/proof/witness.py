"""Witnesses against a design: an input, what should come out and what does, and where it starts."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.gates import gate_id, gate_name
from trilut.circuit.interface import LIST_PORTS, result_values
from trilut.circuit.kinds import NO_NET, Kind
from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.circuit.reach import level_gates, reachable_rows
from trilut.circuit.vectors import NetWires
from trilut.verify.proof.inputs import read_integer

__all__ = ["Witness", "first_difference", "reference"]


@dataclass(frozen=True, slots=True)
class Witness:
    """An input for which a design is wrong.

    Parameters
    ----------
    inputs : mapping
        Feature values by name, None where one is missing; or trits by number.
    expected, got : mapping
        What the reference evaluator says about it, and what the design does.
    first_difference : str
        The first net of the design with another value than the circuit it was made from; empty if
        nets inside cannot be seen.
    """

    inputs: Mapping[str, int | None]
    expected: Mapping[str, object]
    got: Mapping[str, object]
    first_difference: str = ""

    @property
    def text(self) -> str:
        """One line about it."""
        inputs = ", ".join(
            f"{name} {'missing' if value is None else value}" for name, value in self.inputs.items()
        )
        different = [name for name in self.expected if self.expected[name] != self.got[name]]
        outputs = ", ".join(
            f"{name} is {self.got[name]} and not {self.expected[name]}" for name in different
        )
        text = f"for {inputs}: {outputs or 'outputs agree'}"
        return f"{text}; {self.first_difference}" if self.first_difference else text


def reference(
    netlist: Netlist, trits: NDArray[np.int8], ports: Collection[str]
) -> list[dict[str, object]]:
    """Ask the reference evaluator about vectors of trits, as far as some ports show it."""
    if netlist.head is None:
        return [{"trits": row} for row in netlist.evaluate(trits).tolist()]
    values = result_values(netlist.classify(trits, certain=True))
    columns = {
        name.removeprefix("out_"): (port if name in LIST_PORTS else port[:, 0]).astype(int)
        for name, port in values.items()
        if name in ports
    }
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def first_difference(
    netlist: Netlist, trits: NDArray[np.int8], read: Callable[[str, int], Sequence[int] | None]
) -> str:
    """Name the first net of a design that has another value than in the optimised circuit.

    Parameters
    ----------
    trits : int8 array [1, input]
        The inputs.
    read : callable
        Gives the wires of a neuron of the design by the name of its layer and its number there;
        None if the design has no such wires any more.
    """
    circuit = optimize(netlist).netlist
    values = circuit.values(trits)[0]
    wires = NetWires(circuit, reachable_rows(circuit))
    for level, gates in enumerate(level_gates(circuit), start=1):
        for neuron, gate in enumerate(gates.tolist()):
            net = circuit.num_inputs + gate
            bits = read(f"layer_{level}", neuron)
            want = f"{values[net]:+d}"
            got = want if bits is None else _shown(wires, net, bits)
            if got != want:
                return (
                    f"first different net: layer {level}, neuron {neuron}, "
                    f"{_name(circuit, gate)} is {got} and not {want}"
                )
    return "all gates agree: encoder, sums or decision differ"


def _shown(wires: NetWires, net: int, bits: Sequence[int]) -> str:
    """Return what the wires of a net stand for."""
    number = wires.number(net)
    if len(bits) != wires.num_wires[net]:
        return f"{len(bits)} wires"
    if number is not None:
        return f"{number.base + (read_integer(bits, signed=False) << number.shift):+d}"
    minus, plus = bits
    return "the illegal code" if minus and plus else f"{plus - minus:+d}"


def _name(circuit: Netlist, gate: int) -> str:
    sources = circuit.sources[gate]
    nets = ", ".join(f"net {net}" for net in sources[sources != NO_NET])
    if not circuit.is_two_input:
        kind = Kind(circuit.kinds[circuit.num_inputs + gate]).name.lower()
        return f"a {kind} of {nets},"
    number = int(gate_id(circuit.table[gate : gate + 1], circuit.valence)[0])
    name = (gate_name(number) if circuit.valence == 3 else None) or f"gate_{number}"
    return f"{name}({nets})"

"""A circuit written by hand: two of three sensors must agree, and one that is silent is UNKNOWN.

Builds the majority of three trits out of Kleene gates, prints what it says where a sensor is
silent, writes its Verilog and proves that the Verilog computes it.

Run: python examples/circuit_by_hand.py
"""

from pathlib import Path

import numpy as np

from trilut import Netlist
from trilut.circuit.gates import NAMED_GATES
from trilut.hdl import HardwareOptions, InputKind, write_verilog

AND, OR = NAMED_GATES["and"], NAMED_GATES["or"]


def majority() -> Netlist:
    """Return (x and y) or (z and (x or y)) of the inputs x, y, z = 0, 1, 2."""
    return Netlist.of_gates(
        num_inputs=3,
        table=np.stack([AND, OR, AND, OR]),
        a=np.array([0, 0, 2, 3]),
        b=np.array([1, 1, 4, 5]),
        outputs=np.array([6]),
        name="majority of three",
    )


def main() -> None:
    """Evaluate, write and verify the circuit."""
    net = majority()
    for trits in ([1, 1, 0], [1, 0, 0], [1, -1, 0], [-1, -1, 0]):
        print(trits, "->", int(net.evaluate([trits])[0, 0]))
    design = write_verilog(net, Path("build/majority"), HardwareOptions(input_kind=InputKind.TRITS))
    print(design.path)
    for level in net.verify(levels=["formal"]).levels:
        print(level.outcome.value, level.verdict)


if __name__ == "__main__":
    main()

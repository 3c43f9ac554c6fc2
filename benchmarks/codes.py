"""What a code of its own for every net would save, instead of dual-rail for all.

Two of the three bits [v = −1], [v = 0] and [v = +1] make a code of a trit, so there are three. Here
each net inside a network has the one with which its own planes and those of its readers read the
fewest bits: each in turn takes the best for the others as they are, until none changes. Inputs and
outputs stay dual-rail. Both versions of the gates alone, without registers, are mapped to the ECP5.

Run: python benchmarks/codes.py [NAME …]     names as those of benchmarks/area.py
"""

import argparse
import dataclasses
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from area import KEPT, TARGET, networks

from trilut import Netlist
from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.formula import Formula, plane_formulas
from trilut.circuit.optimize import optimize
from trilut.circuit.reach import reachable_rows, ternary_rows, ternary_tables
from trilut.files import make_directory
from trilut.report.tables import Table
from trilut.synth import SynthesisSettings, synthesize
from trilut.synth.cache import Cache

# The values that the two bits of a code stand for.
DUAL_RAIL = (1, -1)
CODES = (DUAL_RAIL, (-1, 0), (1, 0))
LETTERS = {1: "plus", 0: "zero", -1: "minus"}
Code = tuple[int, int]
SAMPLES = 256


@dataclasses.dataclass(frozen=True)
class Circuit:
    """A netlist with what the choice of codes asks for again and again."""

    netlist: Netlist

    @cached_property
    def rows(self) -> list[list[int]]:
        """The rows of each gate that can occur."""
        rows = ternary_rows(self.netlist, reachable_rows(self.netlist))
        return [np.flatnonzero(own).tolist() for own in rows]

    @cached_property
    def planes(self) -> list[dict[int, int]]:
        """For each gate and value, the function of those rows that says: this value."""
        return [
            {
                value: sum((table[row] == value) << bit for bit, row in enumerate(rows))
                for value in LETTERS
            }
            for table, rows in zip(ternary_tables(self.netlist).tolist(), self.rows, strict=True)
        ]

    @cached_property
    def readers(self) -> list[set[int]]:
        """The gates that read each net."""
        readers: list[set[int]] = [set() for _ in range(self.netlist.num_inputs + len(self.rows))]
        for gate in range(len(self.rows)):
            readers[self.netlist.a[gate]].add(gate)
            readers[self.netlist.b[gate]].add(gate)
        return readers

    def formulas(self, gate: int, codes: list[Code]) -> tuple[Formula, Formula]:
        """Return the cheapest formulas for the two bits of a gate.

        In them *plus* and *minus* are the first and the second bit of an input's code: with its
        values renamed, every code is dual-rail.
        """
        net = self.netlist
        a, b = codes[net.a[gate]], codes[net.b[gate]]
        renamed = tuple(
            3 * (_rename(a, row // 3 - 1) + 1) + _rename(b, row % 3 - 1) + 1
            for row in self.rows[gate]
        )
        formulas, planes = plane_formulas(renamed), self.planes[gate]
        first, second = codes[net.num_inputs + gate]
        return formulas[planes[first]], formulas[planes[second]]

    def _cost(self, gate: int, codes: list[Code]) -> float:
        return sum(_formula_cost(formula) for formula in self.formulas(gate, codes))

    def choose(self) -> list[Code]:
        """Return a code for each net that no change of a single one makes cheaper."""
        net = self.netlist
        codes: list[Code] = [DUAL_RAIL] * len(self.readers)
        inside = sorted(set(range(net.num_inputs, len(codes))) - set(net.outputs.tolist()))
        before: list[Code] = []
        while before != codes:
            before = list(codes)
            for index in inside:
                codes[index] = self._best_code(index, codes)
        return codes

    def _best_code(self, index: int, codes: list[Code]) -> Code:
        gates = self.readers[index] | {index - self.netlist.num_inputs}
        present, costs = codes[index], []
        for codes[index] in CODES:
            cost = sum(self._cost(gate, codes) for gate in gates)
            costs.append((cost, codes[index] != present, codes[index]))
        return min(costs)[2]

    def check(self, codes: list[Code]) -> None:
        """Compare with the reference on random vectors of features."""
        net, encoder = self.netlist, self.netlist.encoder
        assert encoder is not None
        rng = np.random.default_rng(1)
        limits = [(feature.minimum, feature.maximum + 1) for feature in encoder.features]
        values = np.stack([rng.integers(*each, SAMPLES) for each in limits], axis=1)
        trits = encoder.trits(FeatureVectors(values, rng.random(values.shape) < 0.9))
        bits = [[column == value for value in DUAL_RAIL] for column in trits.T]
        for gate in range(net.num_gates):
            leaves = _leaves(bits[net.a[gate]], bits[net.b[gate]])
            leaves["one"] = np.ones(SAMPLES, dtype=bool)
            bits.append([formula.build(leaves) for formula in self.formulas(gate, codes)])
        plus, minus = (np.array([bits[index][bit] for index in net.outputs]) for bit in (0, 1))
        assert np.array_equal((1 * plus - minus).T, net.evaluate(trits))

    def verilog(self, codes: list[Code]) -> str:
        """Return the gates as a combinational module, dual-rail at its ports."""
        net = self.netlist
        names = [[f"i[{2 * index + 1}]", f"i[{2 * index}]"] for index in range(net.num_inputs)]
        lines = []
        for gate in range(net.num_gates):
            index = net.num_inputs + gate
            leaves = _leaves(names[net.a[gate]], names[net.b[gate]])
            names.append([f"n{index}_{LETTERS[value]}" for value in codes[index]])
            for name, formula in zip(names[-1], self.formulas(gate, codes), strict=True):
                lines.append(f"  wire {name} = {formula.text(leaves)};")
        outputs = ", ".join(name for index in reversed(net.outputs) for name in names[index])
        return "\n".join(
            [
                f"module top(input [{2 * net.num_inputs - 1}:0] i,",
                f"    output [{2 * len(net.outputs) - 1}:0] o);",
                *lines,
                f"  assign o = {{{outputs}}};",
                "endmodule",
                "",
            ]
        )


def _rename(code: Code, value: int) -> int:
    return 1 if value == code[0] else -1 if value == code[1] else 0


def _formula_cost(formula: Formula) -> float:
    # A wire or its inverse costs no LUT. Whatever reads few bits goes into a LUT with its reader.
    bits = len(formula.leaves)
    return bits - 1 + 0.1 * formula.num_nodes if bits > 1 else 0.0


def _leaves(a: Sequence[Any], b: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(("a_plus", "a_minus", "b_plus", "b_minus"), (*a, *b), strict=True))


def num_luts(verilog: str) -> int:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "top.v"
        path.write_text(verilog)
        result = synthesize(
            path,
            "top",
            TARGET,
            settings=SynthesisSettings(timeout=3600, cache=Cache(KEPT)),
            out=path.parent,
            blocks=False,
        )
    return result.cells.lut4_equivalents


def compare(netlist: Netlist) -> tuple[str, ...]:
    """Return the cells of a row: gates, nets of each code, LUT4 with one code and with three."""
    circuit = Circuit(optimize(netlist).netlist)
    dual_rail: list[Code] = [DUAL_RAIL] * len(circuit.readers)
    chosen = circuit.choose()
    circuit.check(chosen)
    counts = [num_luts(circuit.verilog(codes)) for codes in (dual_rail, chosen)]
    gates = chosen[netlist.num_inputs :]
    return (
        f"{len(gates):,}",
        " / ".join(f"{gates.count(code):,}" for code in CODES),
        *(f"{count:,}" for count in counts),
        f"{counts[1] / counts[0]:.3f}",
    )


def main() -> None:
    nets = {name: net for name, net in networks().items() if name != "binary"}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"some of {', '.join(nets)}")
    args = parser.parse_args()
    make_directory(KEPT)
    for name in args.names:
        if name not in nets:
            parser.error(f"there is no {name!r}; expected one of {', '.join(nets)}")
    rows = tuple((name, *compare(nets[name]())) for name in args.names or nets)
    header = ("gates alone", "gates", "nets of each code", "dual-rail", "code per net", "ratio")
    print(Table("LUT4 on ECP5 with a code for each net", header, rows).markdown())


if __name__ == "__main__":
    main()

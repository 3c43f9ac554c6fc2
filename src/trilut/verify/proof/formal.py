"""Proof that a design computes its netlist, for every input and every order of events.

The design is read from its Verilog. That it is a pipeline which moves as a whole is one proof
(:mod:`trilut.verify.proof.stream`); then its registers can be left out, and what remains is
compared with what the netlist says (:mod:`trilut.verify.proof.specification`): the trits that enter
the sums by a SAT solver, the sums by algebra (:mod:`trilut.verify.proof.sums`), and the decision by
a SAT solver again.
"""

import dataclasses
import re
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.circuit.reach import possible_values, reachable_rows
from trilut.files import read_bytes, write_atomically
from trilut.hdl import InputKind, VerilogDesign
from trilut.verify.proof import specification
from trilut.verify.proof.aig import FALSE, TRUE, Aig, Literal, Words
from trilut.verify.proof.counterexample import Counterexample, first_difference, reference
from trilut.verify.proof.design import Bit, Pipeline, PipelineError, read_design
from trilut.verify.proof.inputs import Inputs, example_words, read_bits, read_integer
from trilut.verify.proof.stream import advance_bit, check_stream
from trilut.verify.proof.sums import SumError, TritInput, prove_sum
from trilut.verify.proof.sweep import HARD_SOLVER, Sweeper

__all__ = ["FormalResult", "prove_design"]

_NUM_WORDS = 32
_CONTROL_PORTS = ("clk", "rst", "en", "in_valid", "out_ready")
# Not the wires inside a level: carries, and the pins of a part's own cells.
_BETWEEN_LEVELS = re.compile(r"class_\d+_level_\d+")


@dataclass(frozen=True, slots=True)
class FormalResult:
    """What a proof found.

    Parameters
    ----------
    claims : mapping
        What was proven, in words, with how much of it.
    fault : str
        What could not be proven, or is wrong; empty if all was proven.
    counterexample : Counterexample, optional
        An input for which the design is wrong, if one was found.
    is_open : bool
        Whether nothing is known to be wrong though not all was proven.
    seconds : mapping
        Time of each step.
    """

    claims: Mapping[str, str]
    fault: str = ""
    counterexample: Counterexample | None = None
    is_open: bool = False
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether everything was proven."""
        return not self.fault


class _DisproofError(Exception):
    """A claim does not hold, for these values of the inputs."""

    def __init__(self, message: str, inputs: Mapping[Literal, bool]):
        super().__init__(message)
        self.inputs = inputs


class _DecisionError(Exception):
    """The decision is wrong for some scores."""


def prove_design(
    net: Netlist,
    design: VerilogDesign,
    work: Path,
    *,
    progress: Callable[[str], None] | None = None,
) -> FormalResult:
    """Prove that a design computes its netlist.

    Parameters
    ----------
    net : Netlist
        What it must compute.
    design : VerilogDesign
        The design, without a port for the abstention margin.
    work : Path
        Directory for scratch files and logs.
    progress : callable, optional
        Called with a line of text when a step begins.

    Raises
    ------
    ToolError
        If Yosys is missing or fails.
    """
    proof = _Proof(net, design, work, progress or (lambda line: None))
    try:
        fault, counterexample, is_open = _attempt(proof)
    # Also from a counter-example, for which the whole design is looked at and not only a part.
    except PipelineError as error:
        fault, counterexample, is_open = str(error), None, False
    return FormalResult(proof.claims, fault, counterexample, is_open, proof.seconds)


def _attempt(proof: "_Proof") -> tuple[str, Counterexample | None, bool]:
    """Return the fault or nothing, an input that shows it, and whether it may be none at all."""
    try:
        proof.run()
    except SumError as error:
        counterexample = proof.search()
        return str(error), counterexample, counterexample is None
    except _DecisionError as error:
        return str(error), proof.search(), False
    except _DisproofError as error:
        return str(error), proof.explain(error.inputs), False
    return "", None, False


class _Proof:
    def __init__(
        self, net: Netlist, design: VerilogDesign, work: Path, progress: Callable[[str], None]
    ):
        is_trits = design.input_kind is InputKind.TRITS
        self._net = dataclasses.replace(net, encoder=None) if is_trits else net
        self._design = design
        self._work = work
        self._progress = progress
        self._top = design.top
        blocks = ["control", *(["groupsum", "argmax"] if net.head else [])]
        self._kept = [f"{self._top}_{block}" for block in blocks]
        self.claims: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self._depths: dict[str, set[int | None]] = {}
        self._offset = 0
        self._aig = Aig()
        self._sweeper = Sweeper(self._aig)

    def run(self) -> None:
        """Prove everything, step by step."""
        self._step("read", self._read)
        self._step("stream", self._prove_stream)
        self._step("gates", self._prove_gates)
        if self._net.head is not None:
            self._step("sums", self._prove_sums)
            self._step("decision", self._prove_decision)
        self._step("latency", self._prove_latency)

    def _step(self, name: str, action: Callable[[], None]) -> None:
        self._progress(name)
        start = time.monotonic()
        try:
            action()
        finally:
            self.seconds[name] = time.monotonic() - start

    def _read(self) -> None:
        source = self._work / "proof.v"
        write_atomically(source, read_bytes(self._design.path) + self._design.models.encode())
        self._modules = read_design([source], self._top, self._work, kept=self._kept)
        self._main = self._modules[self._top]

    def _prove_stream(self) -> None:
        count = check_stream(self._modules, self._top, self._design.latency)
        self.claims["handshake"] = (
            f"{count} registers move as one pipeline of {self._design.latency} stages; results "
            "hold while they wait, none is lost, doubled or overtaken"
        )

    def _prove_gates(self) -> None:
        """Prove the trits that leave the gates, and that none of them has the illegal code."""
        self._inputs = Inputs(self._aig, self._net)
        nets = specification.gates(self._aig, self._net, self._inputs.trits)
        known = {
            bit: literal
            for port, literals in self._inputs.ports.items()
            for bit, literal in zip(self._main.ports[port], literals, strict=True)
        }
        first_of_design = len(self._aig)
        self._pipeline = Pipeline(self._aig, self._main, {**known, advance_bit(self._main): TRUE})
        self._outputs = self._used_outputs()
        for bit in self._outputs.values():
            self._pipeline.literal(bit)
        named = (
            self._pipeline.literal(bit) >> 1
            for wires in self._main.nets.values()
            for bit in wires
            if self._pipeline.is_known(bit)
        )
        targets = [node for node in named if node >= first_of_design]
        anchors = [literal >> 1 for trit in nets for literal in trit]
        self._sweeper.sweep(targets, anchors, self._inputs.patterns(self._aig, _NUM_WORDS))
        for place, bit in self._outputs.items():
            output, plane = divmod(place, 2)
            expected = nets[self._entering[output]][plane]
            example = self._sweeper.difference(expected, self._pipeline.literal(bit))
            if example is not None:
                raise _DisproofError(f"Output {output} of the gates is wrong", example)
        self._expected = [nets[net] for net in self._entering]
        self.claims["gates"] = (
            f"{len(self._net.outputs)} output trits equal the tables of {self._net.num_gates} "
            f"gates for every input, and are never the illegal code "
            f"({self._sweeper.num_merged} equal nodes, {self._sweeper.num_questions} questions)"
        )

    def _nets_entering(self, count: int) -> list[int]:
        """Return the nets that enter the sums: the outputs, or the inputs if there are no gates."""
        if count == len(self._net.outputs):
            return [int(net) for net in self._net.outputs]
        if count == self._net.num_inputs:
            return list(range(count))
        raise PipelineError(
            f"{count} trits leave the gates, expected {len(self._net.outputs)} outputs"
        )

    def _used_outputs(self) -> dict[int, Bit]:
        """Return the bits by which trits leave the gates, by their places.

        A bit that nothing drives is left out if the block behind the gates does not read it: Yosys
        removes the logic before such a bit.
        """
        block = "groupsum" if self._net.head else "control"
        wiring = self._wiring(block)
        self._entering = self._nets_entering(len(wiring) // 2)
        reads = self._modules[f"{self._top}_{block}"].bits_read()
        outputs = {}
        for place, (inner, outer) in enumerate(wiring):
            if self._pipeline.has_value(outer):
                outputs[place] = outer
            elif inner in reads:
                raise PipelineError(
                    f"Output {place // 2} of the gates is read by block {block!r}, but no gate, "
                    "register or input drives it"
                )
        return outputs

    def _wiring(self, block: str) -> list[tuple[Bit, Bit]]:
        """Return the bits by which data enter a block, as it sees them and as the top does."""
        netlist = self._modules[f"{self._top}_{block}"]
        return [
            pair
            for port, direction in netlist.directions.items()
            if direction == "input" and port not in _CONTROL_PORTS
            for pair in zip(netlist.ports[port], self._main.blocks[block][port], strict=True)
        ]

    def _score_bits(self) -> Sequence[Bit]:
        """Return the wire of the top module that carries the scores to the decision.

        Its constant bits are not among the ports of the block.
        """
        entering = {outer for _, outer in self._wiring("argmax")}
        wires = [
            bits
            for bits in self._main.nets.values()
            if {bit for bit in bits if isinstance(bit, int)} == entering
        ]
        if not wires:
            raise PipelineError(
                "Block 'argmax' reads other bits than those of one wire with scores"
            )
        return min(wires, key=len)

    def _prove_sums(self) -> None:
        """Prove what enters the decision, given the trits that leave the gates."""
        head = self._net.head
        assert head is not None
        aig = Aig()
        trits = self._sum_inputs(aig)
        inner = [bit for bit, _ in self._wiring("groupsum")]
        known = {
            bit: plane
            for trit, place in zip(trits, range(0, 2 * len(trits), 2), strict=True)
            for bit, plane in zip(inner[place : place + 2], trit.planes, strict=True)
        }
        groupsum, known_outside = self._through("groupsum", aig, known, self._between_levels())
        outside = Pipeline(aig, self._main, known_outside)
        numbers = self._numbers(outside.literals(self._score_bits()))
        constants = set()
        for index, number in enumerate(numbers):
            weights = np.repeat(np.arange(len(head.classes)) == index, head.group_sizes).astype(int)
            if len(numbers) == 1:
                weights = np.repeat([1, -1], head.group_sizes)
            constants.add(prove_sum(aig, number, trits, self._signs(weights), groupsum.drivers))
        is_exact = "out_scores" in self._main.ports or len(numbers) == 1
        if len(constants) > 1 or (is_exact and constants != {0}):
            raise SumError(f"The sums are off by {sorted(constants)}")
        (self._offset,) = constants
        what = "difference of the two scores" if len(numbers) == 1 else f"{len(numbers)} scores"
        self.claims["sums"] = f"{what} equal the sums of {len(trits)} trits" + (
            f", all with the constant {self._offset:+d}" if self._offset else ""
        )

    def _signs(self, weights: NDArray[np.int64]) -> list[int]:
        """Return how each trit that enters the sums counts, given how each output does."""
        if len(self._entering) == len(weights):
            return weights.tolist()
        return [int(weights[self._net.outputs == net].sum()) for net in self._entering]

    def _numbers(self, literals: Sequence[Literal]) -> list[list[Literal]]:
        """Split the port of the decision into numbers: the scores, or their one difference."""
        head = self._net.head
        assert head is not None
        count = len(head.classes)
        if count == 2 and "out_scores" not in self._main.ports:
            count = 1
        width = len(literals) // count
        return [list(literals[first : first + width]) for first in range(0, count * width, width)]

    def _sum_inputs(self, aig: Aig) -> list[TritInput]:
        """Make an input for every trit that enters the sums, with the values that it can take.

        Which values it can take is what the generator believes, so it is proven.
        """
        circuit = optimize(self._net).netlist
        nets = circuit.outputs
        if len(self._entering) != len(nets):
            nets = np.array(self._entering)
        possible = possible_values(circuit, reachable_rows(circuit))[nets]
        trits = []
        for output, choices in enumerate(possible.tolist()):
            minus, plus = self._expected[output]
            neither = self._aig.both(minus ^ 1, plus ^ 1)
            for literal, is_possible in zip((minus, neither, plus), choices, strict=True):
                example = None if is_possible else self._sweeper.example([literal])
                if example is not None:
                    raise _DisproofError(
                        f"Output {output} takes a value that was ruled out", example
                    )
            values = tuple(value for value, here in zip((-1, 0, 1), choices, strict=True) if here)
            trits.append(TritInput((aig.input(), aig.input()), values))
        return trits

    def _through(
        self, block: str, aig: Aig, known: Mapping[Bit, Literal], cuts: Container[Bit] = ()
    ) -> tuple[Pipeline, dict[Bit, Literal]]:
        """Return a block given its inputs, and its outputs by their bits in the top module."""
        netlist = self._modules[f"{self._top}_{block}"]
        control = {
            netlist.ports[port][0]: level
            for port, level in (("en", TRUE), ("rst", FALSE))
            if port in netlist.ports
        }
        pipeline = Pipeline(aig, netlist, {**known, **control}, cuts)
        outside = {}
        depths = set()
        for port, direction in netlist.directions.items():
            if direction == "output":
                bits = zip(netlist.ports[port], self._main.blocks[block][port], strict=True)
                for inner, outer in bits:
                    outside[outer] = pipeline.literal(inner)
                    depths.add(pipeline.depth(inner))
        self._depths[block] = depths
        return pipeline, outside

    def _past_control(self, aig: Aig, known: Mapping[Bit, Literal]) -> dict[Bit, Literal]:
        """Add the results that leave control: those that enter it, bit for bit."""
        ports = self._main.blocks["control"]
        before = Pipeline(aig, self._main, known)
        pairs = zip(ports["i"], ports["o"], strict=True)
        return {**known, **{after: before.literal(bit) for bit, after in pairs}}

    def _between_levels(self) -> set[Bit]:
        """Return the wires between the levels of a sum, where to cut it by their names."""
        nets = self._modules[f"{self._top}_groupsum"].nets
        names = filter(_BETWEEN_LEVELS.fullmatch, nets)
        return {bit for name in names for bit in nets[name] if isinstance(bit, int)}

    def _prove_decision(self) -> None:
        """Prove the decision, given all scores that can occur."""
        head = self._net.head
        assert head is not None
        aig = Aig()
        wiring = self._wiring("argmax")
        scores_in = {outer: aig.input() for _, outer in wiring}
        known = {inner: scores_in[outer] for inner, outer in wiring}
        _, outside = self._through("argmax", aig, known)
        outputs = Pipeline(aig, self._main, self._past_control(aig, outside))
        entering = Pipeline(aig, self._main, scores_in)
        numbers = self._numbers(entering.literals(self._score_bits()))
        if len(numbers) == 1:
            zero = [FALSE]
            scores, sizes = [numbers[0], zero], [head.num_outputs, 0]
        else:
            scores, sizes = numbers, list(head.group_sizes)
        limits = []
        for number, size in zip(scores, sizes, strict=True):
            if size:
                low, high = self._offset - size, self._offset + size
                limits += [
                    specification.at_least(aig, number, low, signed=True),
                    specification.at_least(aig, number, high + 1, signed=True) ^ 1,
                ]
        sweeper = Sweeper(aig, limits, solver=HARD_SOLVER)
        chosen = outputs.literals(self._main.ports["out_class"])
        margin = [*outputs.literals(self._main.ports["out_margin"]), FALSE]
        unknown = outputs.literal(self._main.ports["out_unknown"][0])
        for index, is_class in enumerate(specification.first_highest(aig, scores)):
            code = aig.all(bit ^ 1 ^ (index >> place & 1) for place, bit in enumerate(chosen))
            self._require(sweeper, [is_class, code ^ 1], "The class is wrong", numbers)
            # One class at a time: then the solver need not compare all with all.
            others = [score for other, score in enumerate(scores) if other != index]
            expected = specification.margin_over(aig, scores[index], others)
            right = specification.equal(aig, margin, expected)
            self._require(sweeper, [is_class, right ^ 1], "The margin is wrong", numbers)
        # The margin is known to be right by now.
        abstains = specification.at_least(aig, margin, head.abstain_margin, signed=True) ^ 1
        wrong = aig.differ(unknown, abstains)
        self._require(sweeper, [wrong], "The abstention is wrong", numbers)
        if "out_scores" in self._main.ports:
            scores_out = outputs.literals(self._main.ports["out_scores"])
            for index, (got, want) in enumerate(
                zip(self._numbers(scores_out), numbers, strict=True)
            ):
                right = specification.equal(aig, got, want)
                self._require(sweeper, [right ^ 1], f"Score {index} is wrong", numbers)
        self.claims["decision"] = (
            f"first highest of {len(head.classes)} scores, margin, and abstention below "
            f"{head.abstain_margin}, for all scores that fit the groups"
        )

    def _require(
        self,
        sweeper: Sweeper,
        literals: Sequence[Literal],
        message: str,
        numbers: Sequence[Sequence[Literal]],
    ) -> None:
        example = sweeper.example(literals)
        if example is not None:
            values = [_signed_value(number, example) - self._offset for number in numbers]
            what = "score difference" if len(numbers) == 1 else "scores"
            raise _DecisionError(f"{message} for {what} {', '.join(map(str, values))}")

    def _prove_latency(self) -> None:
        """Prove that every result belongs to one vector: all paths have the same registers."""
        depths = {self._pipeline.depth(bit) for bit in self._outputs.values()}
        # A constant has no depth.
        blocks = [
            sorted(depth for depth in found if depth is not None)
            for found in (depths, *self._depths.values())
        ]
        for found in blocks:
            if len(found) > 1:
                raise PipelineError(
                    f"Bits of one result pass {' and '.join(map(str, found))} registers"
                )
        # The last register is that of the result in control.
        passed = sum(depth for found in blocks for depth in found) + 1
        if all(blocks) and passed != self._design.latency:
            raise PipelineError(
                f"A vector passes {passed} registers, but the latency is {self._design.latency}"
            )
        self.claims["latency"] = f"every path has {self._design.latency} registers"

    def explain(self, inputs: Mapping[Literal, bool]) -> Counterexample:
        """Run the reference and the design on one input, and compare them."""
        outputs = self._whole()
        values = self._aig.simulate(example_words(inputs))
        vector = self._inputs.vector(values, 0)
        trits = self._inputs.encoded(vector)
        got = _result({port: read_bits(values, bits, 0) for port, bits in outputs.items()})
        return Counterexample(
            self._inputs.named(vector),
            reference(self._net, trits)[0],
            got,
            first_difference(
                self._net, trits, lambda layer, neuron: self._neuron(values, layer, neuron)
            ),
        )

    def search(self) -> Counterexample | None:
        """Look for an input for which a design that could not be proven is wrong."""
        outputs = self._whole()
        patterns = self._inputs.patterns(self._aig, _NUM_WORDS)
        values = self._aig.simulate(patterns)
        count = 64 * _NUM_WORDS
        trits = np.concatenate(
            [self._inputs.encoded(self._inputs.vector(values, pattern)) for pattern in range(count)]
        )
        expected = reference(self._net, trits)
        for pattern in range(count):
            got = _result(
                {port: read_bits(values, bits, pattern) for port, bits in outputs.items()}
            )
            if got != expected[pattern]:
                word, place = divmod(pattern, 64)
                return self.explain(
                    {
                        literal: bool(words[word] >> np.uint64(place) & np.uint64(1))
                        for literal, words in patterns.items()
                    }
                )
        return None

    def _whole(self) -> dict[str, list[Literal]]:
        """Return the result ports of the whole design, with all registers left out."""
        known: dict[Bit, Literal] = {}
        source = self._pipeline
        for block in ("groupsum", "argmax") if self._net.head else ():
            entering = {
                inner: source.literal(outer)
                for inner, outer in self._wiring(block)
                if source.has_value(outer)
            }
            _, known = self._through(block, self._aig, entering)
            source = Pipeline(self._aig, self._main, known)
        if self._net.head is None:
            known = {bit: source.literal(bit) for bit in self._outputs.values()}
        outputs = Pipeline(self._aig, self._main, self._past_control(self._aig, known))
        return {
            port: outputs.literals(bits)
            for port, bits in self._main.ports.items()
            if port in ("out_class", "out_margin", "out_unknown", "out_trits")
        }

    def _neuron(self, values: Words, layer: str, neuron: int) -> int | None:
        bits = self._main.nets.get(f"{layer}.neuron_{neuron}")
        if bits is None or not all(self._pipeline.is_known(bit) for bit in bits):
            return None
        minus, plus = read_bits(values, self._pipeline.literals(bits), 0)
        return 2 if minus and plus else plus - minus


def _result(ports: Mapping[str, Sequence[int]]) -> dict[str, object]:
    """Return the values of result ports as the reference gives them."""
    if "out_trits" in ports:
        bits = ports["out_trits"]
        return {"trits": [plus - minus for minus, plus in zip(bits[::2], bits[1::2], strict=True)]}
    return {
        name: read_integer(ports[f"out_{name}"], signed=False)
        for name in ("class", "margin", "unknown")
    }


def _signed_value(number: Sequence[Literal], example: Mapping[Literal, bool]) -> int:
    bits = [int(example.get(literal & ~1, False)) ^ (literal & 1) for literal in number]
    return read_integer(bits, signed=True)

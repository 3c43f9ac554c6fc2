# amaranth: UnusedElaboratable=no
# A classifier is made only to ask for its plans.
"""The cost of a netlist's hardware, estimated without synthesis.

The estimate follows the design that :func:`trilut.hdl.write_verilog` would make: the netlist is
optimised, its layers, sums and registers are planned by the same functions, and what remains to be
guessed is how a mapper covers the gates with lookup tables. A greedy cover stands for it, times a
factor for each kind of part that was fitted to Yosys; ``benchmarks/estimate.py`` shows how far off
the result is on other netlists than those.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from trilut.circuit.encoder import Encoder
from trilut.circuit.interface import HeadOutput
from trilut.circuit.kinds import Kind
from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.hdl import HardwareOptions
from trilut.hdl.argmax import DifferenceArgmax
from trilut.hdl.classifier import AnyArgmax, Classifier
from trilut.hdl.cover import Cover, num_tables
from trilut.hdl.plan import LayerPlan
from trilut.hdl.sums.compressor import FALSE, Adder, Bit, Cell, Chain, NumberBit, Plane, TritAdder
from trilut.hdl.sums.groupsum import TritSum
from trilut.hdl.tie import TieArgmax

__all__ = ["PARTS", "Cost", "Estimate", "estimate"]


@dataclass(frozen=True, slots=True)
class Part:
    """What the estimate knows of a kind of part.

    Parameters
    ----------
    lut : str
        What its lookup tables are called.
    lut_inputs : int
        How many inputs they have.
    sums : str
        What sums are made of; see :data:`trilut.hdl.sums.plan.SUM_TARGETS`.
    carry_step : int
        A carry chain takes a multiple of so many tables.
    inner : float
        How many tables a mapper leaves of those without a register behind them, as a part of those
        that the greedy cover leaves. Fitted to one network of four layers.
    paired : float
        How many places tables of fewer inputs take, as a part of their number, where two can share
        one. Fitted to one network of one layer.
    wide : tuple of int
        How many tables a function of five inputs takes, and one of six.
    """

    lut: str
    lut_inputs: int
    sums: str
    carry_step: int
    inner: float
    paired: float = 1.0
    wide: tuple[int, int] = (1, 1)


PARTS: dict[str, Part] = {
    "ecp5": Part("LUT4", 4, "ecp5", 2, 0.7, wide=(2, 4)),
    "ice40": Part("LUT4", 4, "carry", 1, 0.7, wide=(3, 5)),
    "xc7": Part("LUT6", 6, "xilinx", 1, 0.7, 0.54),
}
"""The parts that can be estimated for. Half a CCU2C of the ECP5 counts as a LUT4."""

# How many tables a comparison takes beyond its last one, as a part of those of one that stands
# alone: thresholds of one feature share most of theirs.
_COMPARE = 0.4

_BLOCKS = ("encoder", "layers", "groupsum", "argmax", "control")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a block takes.

    Parameters
    ----------
    lut : int
        Lookup tables; on an ECP5 LUT4-equivalents, carry chains included.
    ff : int
        Flip-flops.
    depth : int
        Lookup tables on the longest path between two registers, a carry chain counted as one.
    """

    lut: int
    ff: int
    depth: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a design takes, block by block.

    Parameters
    ----------
    part : str
        One of :data:`PARTS`.
    blocks : mapping
        Cost of ``encoder``, ``layers``, ``groupsum``, ``argmax`` and ``control``.
    latency : int
        Clock cycles from a vector to its result; exact.
    """

    part: str
    blocks: Mapping[str, Cost]
    latency: int

    @property
    def unit(self) -> str:
        """What the lookup tables are called."""
        return PARTS[self.part].lut

    @property
    def text(self) -> str:
        """One line that says it all."""
        blocks = ", ".join(f"{name} {cost.lut}" for name, cost in self.blocks.items())
        return (
            f"about {self.lut} {self.unit} ({blocks}), {self.ff} FF, "
            f"{self.depth} {self.unit} deep, {self.latency} cycles"
        )

    @property
    def lut(self) -> int:
        """Lookup tables of all blocks."""
        return sum(cost.lut for cost in self.blocks.values())

    @property
    def ff(self) -> int:
        """Flip-flops of all blocks."""
        return sum(cost.ff for cost in self.blocks.values())

    @property
    def depth(self) -> int:
        """Lookup tables on the longest path."""
        return max(cost.depth for cost in self.blocks.values())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {
            "unit": self.unit,
            "lut": self.lut,
            "ff": self.ff,
            "depth": self.depth,
            "latency_cycles": self.latency,
            "blocks": {name: asdict(cost) for name, cost in self.blocks.items()},
        }


def estimate(
    netlist: Netlist,
    part: str = "ecp5",
    *,
    pipeline: int = 2,
    certain: bool = False,
    prediction_set: bool = False,
    presence_bits: bool = True,
    margin: bool = True,
) -> Estimate:
    """Estimate what the hardware of a netlist takes.

    Parameters
    ----------
    netlist : Netlist
        The circuit. Without an encoder, trits enter.
    part : str
        One of :data:`PARTS`.
    pipeline : int
        Layers between registers.
    certain, prediction_set, presence_bits, margin : bool
        Whether the design has these ports; see :class:`HardwareOptions`.

    Raises
    ------
    ValueError
        If there is no such part.
    NetlistError
        If the netlist cannot say what is certain, or has no prediction sets.
    """
    if part not in PARTS:
        raise ValueError(f"There is no estimate for {part!r}, only for {', '.join(PARTS)}")
    facts = PARTS[part]
    options = HardwareOptions(
        pipeline=pipeline,
        sums=facts.sums,
        certain=certain,
        prediction_set=prediction_set,
        presence_bits=presence_bits,
        margin=margin,
    ).for_netlist(netlist)
    options.check_head(netlist)
    design = Classifier(optimize(netlist).netlist, options)
    cover = Cover(facts.lut_inputs, facts.wide)
    inputs = {
        net: tuple(cover.source() for _ in range(design.wires.num_wires[net]))
        for net in range(netlist.num_inputs)
    }
    outputs, layer_ff = _add_layers(design, cover, inputs)
    groupsum, argmax = design.head_blocks
    blocks: dict[str, Cost] = {}
    if groupsum is not None and argmax is not None:
        sum_ff = cover.registers(_sum_bits(groupsum, cover, outputs))
        blocks["groupsum"] = _groupsum(groupsum, sum_ff, facts)
        blocks["argmax"] = _argmax(argmax, groupsum, facts)
    covered = cover.finish()
    small = facts.paired * (covered.num_held + facts.inner * covered.num_inner)
    logic = round(small + covered.num_whole)
    blocks["layers"] = Cost(logic, layer_ff, covered.depth)
    blocks["encoder"] = _encoder(
        design.netlist.encoder, inputs, covered.used, facts, presence=presence_bits
    )
    blocks["control"] = Cost(lut=2, ff=design.latency, depth=1)
    return Estimate(
        part, {name: blocks[name] for name in _BLOCKS if name in blocks}, design.latency
    )


def _add_layers(
    design: Classifier, cover: Cover, inputs: Mapping[int, tuple[Bit, ...]]
) -> tuple[list[tuple[Bit, ...]], int]:
    """Add all gates; return the wires of the outputs, and how many registers the layers have.

    Of a dual-rail trit, the first wire is here that of +1.
    """
    netlist = design.netlist
    wires = dict(inputs)
    num_registers = 0
    for plan in design.plans:
        if design.wires.is_dual_rail:
            _add_gates(netlist, plan, cover, wires)
        else:
            _add_functions(netlist, plan, cover, wires)
        if plan.registered:
            held = cover.register(bit for net in plan.nets_out for bit in wires[net])
            num_registers += len(held) - 2
            for net in set(plan.nets_out):
                wires[net] = tuple(held[bit] for bit in wires[net])
    return [wires[net] for net in netlist.outputs.tolist()], num_registers


def _add_gates(
    netlist: Netlist, plan: LayerPlan, cover: Cover, wires: dict[int, tuple[Bit, ...]]
) -> None:
    """Add the two-input gates of a layer."""
    a, b = netlist.a.tolist(), netlist.b.tolist()
    for gate, formulas in zip(plan.gates, plan.formulas, strict=True):
        (a_plus, a_minus), (b_plus, b_minus) = wires[a[gate]], wires[b[gate]]
        bits = {"a_plus": a_plus, "a_minus": a_minus, "b_plus": b_plus, "b_minus": b_minus}
        made = tuple(cover.plane(formula, bits) for formula in formulas)
        wires[netlist.num_inputs + gate] = made


def _add_functions(
    netlist: Netlist, plan: LayerPlan, cover: Cover, wires: dict[int, tuple[Bit, ...]]
) -> None:
    """Add the gates of a layer of any inputs."""
    for gate, functions in zip(plan.gates, plan.functions, strict=True):
        net = netlist.num_inputs + gate
        alone = len(functions) == 1
        made = []
        for function in functions:
            bits = [
                _in_code_order(netlist, source, wires[source])[wire]
                for source, wire in function.wires
            ]
            made.append(cover.function(function.table, tuple(bits), alone=alone))
        wires[net] = _in_code_order(netlist, net, tuple(made))


def _in_code_order(netlist: Netlist, net: int, wires: tuple[Bit, ...]) -> tuple[Bit, ...]:
    """Turn the wires of a trit: +1 comes first here, and last in its code."""
    return wires[::-1] if netlist.kinds[net] == Kind.TRIT else wires


def _sum_bits(groupsum: TritSum, cover: Cover, outputs: Sequence[tuple[Bit, ...]]) -> Iterable[Bit]:
    """Yield the bits that the sums take in."""
    for index, plan in enumerate(groupsum.plans):
        for read in plan.inputs.values():
            if isinstance(read, NumberBit):
                yield outputs[groupsum.term(index, read)][read.wire]
                continue
            trit, plane, is_inverted = groupsum.source(index, read)
            plus, minus = outputs[trit]
            match plane:
                case Plane.PLUS:
                    bit = plus
                case Plane.MINUS:
                    bit = minus
                case Plane.ZERO:
                    bit = cover.neither(plus, minus)
            yield cover.inverted(bit) if is_inverted else bit


def _groupsum(groupsum: TritSum, num_inputs: int, part: Part) -> Cost:
    lut, ff = 0, num_inputs
    stages = [math.ceil(len(plan.levels) / groupsum.levels) for plan in groupsum.plans]
    for plan, num_stages in zip(groupsum.plans, stages, strict=True):
        lut += sum(_cell_tables(cell, part) for level in plan.levels for cell in level.cells)
        ends = [*plan.levels[groupsum.levels - 1 :: groupsum.levels], *plan.levels[-1:]]
        delay = max(1, *stages) - num_stages
        ff += sum(len(level.kept) for level in ends[:num_stages])
        ff += delay * len(plan.levels[-1].kept if plan.levels else plan.inputs)
    return Cost(lut, ff, groupsum.levels)


def _cell_tables(cell: Cell, part: Part) -> int:
    match cell:
        case Chain():
            return _chain(len(cell.positions), part)
        case Adder():
            return len(cell.outputs) + (cell.carry != FALSE)
        case TritAdder():
            return 4
        case _:
            return 2


def _argmax(argmax: AnyArgmax, groupsum: TritSum, part: Part) -> Cost:
    head, extra = argmax.head, argmax.extra
    if isinstance(argmax, TieArgmax):
        return _tie(argmax, part)
    gives_certain, gives_set = HeadOutput.CERTAIN in extra, HeadOutput.SET in extra
    width = max(len(plan.result) for plan in groupsum.plans)
    if isinstance(argmax, DifferenceArgmax):
        # The difference is inverted, one is added, and the result is compared.
        lut, ff = 2 * width + num_tables(width, part.lut_inputs), 3 * width + 4
        if gives_certain:
            # The bounds are added, and each is compared with a constant.
            lut += _chain(width, part) + 2 * num_tables(width, part.lut_inputs) + 1
            ff += width + 5
        if gives_set:
            lut, ff = lut + num_tables(width, part.lut_inputs) + 2, ff + 2
        return Cost(lut, ff, 1)
    # A score that is made of bounds has a bit more than these.
    width += gives_certain
    count, bound_bits = len(head.classes), argmax.bound_bits if gives_certain else 0
    tournament = _Tournament(width, head.class_bits, bound_bits, part)
    beaten = tournament.play([0] * count, seconds=True)
    tournament.play([0] * beaten, seconds=False)
    tournament.end()
    lut, ff = tournament.lut, tournament.ff
    rest = argmax.latency - gives_certain - argmax.champion_latency
    if gives_certain:
        # Scores are made, and what others can have waits for what the best surely has.
        lut += count * (_chain(width, part) + _chain(bound_bits + 1, part) + 3)
        ff += count * (width + bound_bits * (2 + argmax.champion_latency) + 1) + rest
    if gives_set:
        lut += _chain(width + 2, part) * (1 + count)
        ff += count * width * (1 + argmax.champion_latency) + width + 2 + count * (rest - 1)
    return Cost(round(part.paired * lut), ff, 1)


def _tie(argmax: TieArgmax, part: Part) -> Cost:
    """Return what :class:`TieArgmax` takes: in a match a comparison, an equality and a choice."""
    width, count = argmax.head.score_bits, len(argmax.head.classes)
    index = argmax.head.class_bits
    bits_a_table = 2 if part.sums == "xilinx" else 1
    positions = _chain(-(-width // bits_a_table), part)
    equal = num_tables(positions, part.lut_inputs)
    # The last match leaves no score.
    choices = (count - 2) * width + (count - 1) * (index / 2 + 1)
    lut = (count - 1) * (positions + equal) + round(part.paired * choices)
    ff = argmax.latency // 2 * (width + index) + (count - 1) * (3 * width + 2 + 2 * index)
    return Cost(lut, ff, 1)


def _chain(width: int, part: Part) -> int:
    """Return how many tables a carry chain takes."""
    return -(-width // part.carry_step) * part.carry_step


class _Tournament:
    """What the rounds of :class:`trilut.hdl.argmax.Argmax` take, counted as they are played."""

    def __init__(self, width: int, index_bits: int, bound_bits: int, part: Part):
        self._width = width
        self._index_bits = index_bits
        self._bound_bits = bound_bits
        self._part = part
        self.lut = 0
        self.ff = 0

    def play(self, beaten: list[int], *, seconds: bool) -> int:
        """Play all rounds of leaders that have beaten so many; return that of the winner."""
        first_round = True
        while len(beaten) > 1:
            bound = self._bound_bits if seconds else 0
            # In the first round, an index is a constant.
            luggage = bound + (0 if first_round or not seconds else self._index_bits)
            pairs = list(zip(beaten[::2], beaten[1::2], strict=False))
            # Each pair is compared, held in a register meanwhile, and then chosen from.
            for left, right in pairs:
                self.lut += _chain(self._width, self._part)
                self.ff += 1 + self._width * (2 + left + right) + 2 * luggage
                won = 1 + max(left, right) if seconds else 0
                chosen = self._width * (1 + won) + bound + (self._index_bits if seconds else 0)
                self.lut += chosen
                self.ff += chosen
            if len(beaten) % 2:
                self.ff += 2 * (self._width * (1 + beaten[-1]) + luggage)
            if not seconds:
                # The champion waits.
                self.ff += 2 * (self._width + self._index_bits)
            beaten = [1 + max(pair) if seconds else 0 for pair in pairs] + beaten[len(pairs) * 2 :]
            first_round = False
        return beaten[0]

    def end(self) -> None:
        """Make the margin, and compare it."""
        tables = num_tables(self._width, self._part.lut_inputs)
        self.lut += _chain(self._width, self._part) + tables
        self.ff += 2 * (self._width + self._index_bits) + 1


def _encoder(
    encoder: Encoder | None,
    inputs: Mapping[int, tuple[Bit, ...]],
    used: set[Bit],
    part: Part,
    *,
    presence: bool,
) -> Cost:
    read = [
        (net, plane)
        for net, planes in inputs.items()
        for plane, bit in enumerate(planes)
        if bit in used
    ]
    if encoder is None:
        return Cost(0, len(read), 0)
    thresholds = (encoder.high, encoder.low)
    compared = Counter(
        (int(encoder.feature[net]), int(thresholds[plane][net])) for net, plane in read
    )
    lut, depth = 0.0, 0
    for (feature, threshold), num_planes in compared.items():
        bits = encoder.features[feature].bits
        # Zeros at the end of the threshold need not be looked at.
        looked_at = bits - ((threshold & -threshold).bit_length() - 1) if threshold else 0
        # Each plane asks whether the feature is there, too.
        num_inputs = looked_at + presence
        if num_inputs == 1:
            continue
        more = num_tables(num_inputs, part.lut_inputs) - 1
        is_small = num_inputs < part.lut_inputs
        lut += num_planes * (part.paired if is_small else 1.0) + _COMPARE * more
        depth = max(depth, math.ceil(math.log(max(looked_at, 1) + 1, part.lut_inputs)))
    for index in {feature for feature, _ in compared}:
        feature_range = encoder.features[index]
        if feature_range.seen is not None:
            # Whether an integer counts takes a comparison or two, and makes all planes wait.
            least, most = feature_range.seen
            ends = (feature_range.minimum < least, most < feature_range.maximum)
            lut += sum(ends) * num_tables(feature_range.bits, part.lut_inputs)
    return Cost(round(lut), len(read), depth)

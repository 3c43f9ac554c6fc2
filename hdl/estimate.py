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
from trilut.circuit.formula import Formula
from trilut.circuit.interface import HeadOutput
from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.hdl import HardwareOptions
from trilut.hdl.argmax import Argmax, DifferenceArgmax
from trilut.hdl.classifier import Classifier
from trilut.hdl.sums.compressor import FALSE, TRUE, Adder, Bit, Cell, Chain, Plane, TritAdder
from trilut.hdl.sums.groupsum import TritSum

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
        one.
        Fitted to one network of one layer.
    """

    lut: str
    lut_inputs: int
    sums: str
    carry_step: int
    inner: float
    paired: float = 1.0


PARTS: dict[str, Part] = {
    "ecp5": Part("LUT4", 4, "ecp5", 2, 0.7),
    "ice40": Part("LUT4", 4, "carry", 1, 0.7),
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
    certain, prediction_set : bool
        Whether the design has these ports.

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
        pipeline=pipeline, sums=facts.sums, certain=certain, prediction_set=prediction_set
    ).for_netlist(netlist)
    options.check_head(netlist)
    design = Classifier(optimize(netlist).netlist, options)
    cover = _Cover(facts.lut_inputs)
    inputs = {net: (cover.source(), cover.source()) for net in range(netlist.num_inputs)}
    outputs, layer_ff = _add_layers(design, cover, inputs)
    groupsum, argmax = design.head_blocks
    blocks: dict[str, Cost] = {}
    if groupsum is not None and argmax is not None:
        sum_ff = cover.registers(_sum_bits(groupsum, cover, outputs))
        blocks["groupsum"] = _groupsum(groupsum, sum_ff, facts)
        blocks["argmax"] = _argmax(argmax, groupsum, facts)
    covered = cover.finish()
    logic = round(facts.paired * (covered.num_held + facts.inner * covered.num_inner))
    blocks["layers"] = Cost(logic, layer_ff, covered.depth)
    blocks["encoder"] = _encoder(design.netlist.encoder, inputs, covered.used, facts)
    blocks["control"] = Cost(lut=2, ff=design.latency, depth=1)
    return Estimate(
        part, {name: blocks[name] for name in _BLOCKS if name in blocks}, design.latency
    )


class _Cover:
    """Tables that make the planes of gates, and registers behind some of them.

    As in :mod:`trilut.hdl.sums.compressor`, a bit is a number from 1, ``~bit`` is its complement,
    and FALSE and TRUE are constants.
    """

    def __init__(self, lut_inputs: int):
        self._lut_inputs = lut_inputs
        self._reads: dict[Bit, tuple[Bit, ...]] = {}
        self._num_bits = 0
        self._num_inverters = 0
        self._roots: set[Bit] = set()
        self._tables: dict[tuple[Formula, tuple[Bit, ...]], Bit] = {}
        self._inverted: dict[Bit, Bit] = {}

    def source(self) -> Bit:
        """Return a bit that comes from elsewhere."""
        self._num_bits += 1
        return self._num_bits

    def plane(self, formula: Formula, sources: Mapping[str, Bit]) -> Bit:
        """Return the bit that a formula makes of others."""
        if formula.operator is None:
            bit = TRUE if formula.leaf == "one" else sources[formula.leaf]
            return ~bit if formula.inverted else bit
        bits = tuple(sources[leaf] for leaf in sorted(formula.leaves))
        key = formula, bits
        if key not in self._tables:
            self._tables[key] = self.table(bits)
        return self._tables[key]

    def table(self, bits: Iterable[Bit]) -> Bit:
        """Return a bit that is some function of others."""
        bit = self.source()
        self._reads[bit] = tuple(_varying(bits))
        return bit

    def neither(self, a: Bit, b: Bit) -> Bit:
        """Return a bit that is high if two bits are low, which can read what they read."""
        varying = [bit for bit in (a, b) if bit not in (FALSE, TRUE)]
        if len(varying) < 2:
            return ~varying[0] if varying else TRUE
        return self.table(
            read for bit in _varying(varying) for read in self._reads.get(bit, (bit,))
        )

    def inverted(self, bit: Bit) -> Bit:
        """Return the complement of a bit, by a table of its own if a table makes the bit."""
        if bit not in self._reads:
            return ~bit
        return self._inverted.setdefault(bit, self.table(self._reads[bit]))

    def register(self, bits: Iterable[Bit]) -> dict[Bit, Bit]:
        """Put registers behind bits, one for all that are equal, and return what they hold."""
        held = {bit: self.source() for bit in set(bits) if bit not in (FALSE, TRUE)}
        # A register cannot invert, and a bit that is not made by a table has none that could.
        self._num_inverters += sum(bit < 0 for bit in held)
        self._roots.update(_varying(held))
        return {FALSE: FALSE, TRUE: TRUE, **held}

    def registers(self, bits: Iterable[Bit]) -> int:
        """Put registers behind bits and return how many."""
        return len(self.register(bits)) - 2

    def finish(self) -> "_Covered":
        """Cover what the registers hold, and return what that takes.

        A table becomes part of those that read it if they have inputs left, the ones with few
        readers first. It is spared if it becomes part of all of them.
        """
        used = set(self._roots)
        readers: Counter[Bit] = Counter()
        for bit in sorted(self._reads, reverse=True):
            if bit in used:
                used.update(self._reads[bit])
                readers.update(set(self._reads[bit]))
        support: dict[Bit, set[Bit]] = {}
        depth: dict[Bit, int] = {}
        spared: Counter[Bit] = Counter()
        for bit in sorted(used & self._reads.keys()):
            own = set(self._reads[bit])
            tables = sorted(own & support.keys() - self._roots, key=lambda read: readers[read])
            for read in tables:
                joined = (own - {read}) | support[read]
                if len(joined) <= self._lut_inputs:
                    own = joined
                    spared[read] += 1
            support[bit] = own
            depth[bit] = 1 + max((depth.get(read, 0) for read in own), default=0)
        kept = [bit for bit in support if bit in self._roots or spared[bit] < readers[bit]]
        num_inner = sum(bit not in self._roots for bit in kept)
        num_tables = sum(_tables(len(support[bit]), self._lut_inputs) for bit in kept)
        return _Covered(
            num_tables - num_inner + self._num_inverters,
            num_inner,
            max(depth.values(), default=0),
            used,
        )


@dataclass(frozen=True, slots=True)
class _Covered:
    """What a cover takes.

    Parameters
    ----------
    num_held, num_inner : int
        Tables with a register behind them, and others.
    depth : int
        Tables on the longest path.
    used : set of int
        The bits that are read by anything.
    """

    num_held: int
    num_inner: int
    depth: int
    used: set[Bit]


def _varying(bits: Iterable[Bit]) -> list[Bit]:
    """Return bits without complements and constants."""
    return [max(bit, ~bit) for bit in bits if bit not in (FALSE, TRUE)]


def _tables(num_inputs: int, lut_inputs: int) -> int:
    """Return how many tables a tree of so many inputs takes."""
    return max(1, math.ceil((num_inputs - 1) / (lut_inputs - 1)))


def _add_layers(
    design: Classifier, cover: _Cover, inputs: Mapping[int, tuple[Bit, Bit]]
) -> tuple[list[tuple[Bit, Bit]], int]:
    """Add all gates; return the planes of the outputs, and how many registers the layers have."""
    netlist = design.netlist
    planes = dict(inputs)
    num_registers = 0
    a, b = netlist.a.tolist(), netlist.b.tolist()
    for plan in design.plans:
        for gate, formulas in zip(plan.gates, plan.formulas, strict=True):
            (a_plus, a_minus), (b_plus, b_minus) = planes[a[gate]], planes[b[gate]]
            bits = {"a_plus": a_plus, "a_minus": a_minus, "b_plus": b_plus, "b_minus": b_minus}
            plus, minus = formulas
            planes[netlist.num_inputs + gate] = cover.plane(plus, bits), cover.plane(minus, bits)
        if plan.registered:
            held = cover.register(bit for net in plan.nets_out for bit in planes[net])
            num_registers += len(held) - 2
            for net in set(plan.nets_out):
                plus_bit, minus_bit = planes[net]
                planes[net] = held[plus_bit], held[minus_bit]
    return [planes[net] for net in netlist.outputs.tolist()], num_registers


def _sum_bits(
    groupsum: TritSum, cover: _Cover, outputs: Sequence[tuple[Bit, Bit]]
) -> Iterable[Bit]:
    """Yield the bits that the sums take in."""
    for index, plan in enumerate(groupsum.plans):
        for read in plan.inputs.values():
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


def _argmax(argmax: Argmax | DifferenceArgmax, groupsum: TritSum, part: Part) -> Cost:
    head, extra = argmax.head, argmax.extra
    gives_certain, gives_set = HeadOutput.CERTAIN in extra, HeadOutput.SET in extra
    width = max(len(plan.result) for plan in groupsum.plans)
    if isinstance(argmax, DifferenceArgmax):
        # The difference is inverted, one is added, and the result is compared.
        lut, ff = 2 * width + _tables(width, part.lut_inputs), 3 * width + 4
        if gives_certain:
            # The bounds are added, and each is compared with a constant.
            lut += _chain(width, part) + 2 * _tables(width, part.lut_inputs) + 1
            ff += width + 5
        if gives_set:
            lut, ff = lut + _tables(width, part.lut_inputs) + 2, ff + 2
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
        tables = _tables(self._width, self._part.lut_inputs)
        self.lut += _chain(self._width, self._part) + tables
        self.ff += 2 * (self._width + self._index_bits) + 1


def _encoder(
    encoder: Encoder | None,
    inputs: Mapping[int, tuple[Bit, Bit]],
    used: set[Bit],
    part: Part,
) -> Cost:
    read = [
        (net, plane) for net, planes in inputs.items() for plane in (0, 1) if planes[plane] in used
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
        more = _tables(looked_at + 1, part.lut_inputs) - 1
        is_small = looked_at + 1 < part.lut_inputs
        lut += num_planes * (part.paired if is_small else 1.0) + _COMPARE * more
        depth = max(depth, math.ceil(math.log(max(looked_at, 1) + 1, part.lut_inputs)))
    for index in {feature for feature, _ in compared}:
        feature_range = encoder.features[index]
        if feature_range.seen is not None:
            # Whether an integer counts takes a comparison or two, and makes all planes wait.
            least, most = feature_range.seen
            ends = (feature_range.minimum < least, most < feature_range.maximum)
            lut += sum(ends) * _tables(feature_range.bits, part.lut_inputs)
    return Cost(round(lut), len(read), depth)

"""Making plans: which adders a sum of trits takes on each kind of part."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from trilut.circuit.vectors import Number
from trilut.hdl.sums.compressor import (
    FALSE,
    TRUE,
    Adder,
    Bit,
    Cell,
    Chain,
    Counter,
    InputBit,
    Level,
    NumberBit,
    Plan,
    Plane,
    Position,
    TritAdder,
)

__all__ = ["PLANNERS", "SUM_TARGETS", "Term", "base", "highest", "lowest", "plan_sum"]

Term = tuple[int, ...] | Number
"""What a sum adds: a trit, by the values that it can take, or a number on wires."""

# An entry and nine times three trits.
_MAX_CHAIN = 28


def plan_sum(
    values: Sequence[Term],
    target: str = "generic",
    *,
    recoded: bool = False,
    offset: int = 0,
    max_chain: int = _MAX_CHAIN,
) -> Plan:
    """Plan the sum of some trits and numbers.

    Parameters
    ----------
    values : sequence of Term
        The values that each trit can take, or the code of a number.
    target : str
        One of :data:`PLANNERS`.
    recoded : bool
        Whether [v=0] costs no more than [v=−1], as where the logic before makes either.
    offset : int
        A constant to add.
    max_chain : int
        How many positions to string together at most on ``ecp5``; three trits take 4. Every chain
        costs an entry, and every position time: on speed grade 6, 10 positions make 315 MHz, 28
        make 250 MHz with 7 % less area, and 40 make 230 MHz with 1 % less again.
    """
    heap = _Heap(values, offset, max_chain)
    planner = PLANNERS[target]
    planner.trits(heap, recoded)
    planner.level(heap)
    while not heap.is_number:
        heap.next_level()
        planner.level(heap)
    return heap.plan()


def lowest(term: Term) -> int:
    """Return the lowest value of a term."""
    return term.low if isinstance(term, Number) else min(term)


def base(term: Term) -> int:
    """Return the value of a term whose bits are all 0."""
    if isinstance(term, Number):
        return term.low if term.low == term.high else term.base
    return min(term)


def highest(term: Term) -> int:
    """Return the highest value of a term."""
    return term.high if isinstance(term, Number) else max(term)


@dataclass(frozen=True, slots=True)
class _Trit:
    """The planes of a trit that can have all three values."""

    plus: Bit
    zero: Bit
    minus: Bit


class _Heap:
    """The bits that are still to be added, by weight, and the cells that add them."""

    def __init__(self, values: Sequence[Term], offset: int, max_chain: int):
        low = offset + sum(lowest(term) for term in values)
        high = offset + sum(highest(term) for term in values)
        self.width = max((~low if low < 0 else low).bit_length(), high.bit_length()) + 1
        self.max_chain = max_chain
        self.columns: list[list[Bit]] = [[] for _ in range(self.width)]
        self.trits: list[_Trit] = []
        self._inputs: dict[Bit, InputBit | NumberBit] = {}
        self._num_bits = 0
        self._cells: list[Cell] = []
        self._made: list[list[Bit]] = [[] for _ in range(self.width)]
        self._levels: list[tuple[Cell, ...]] = []
        constant = offset + sum(self._add(trit, choice) for trit, choice in enumerate(values))
        # Constants come last, so that they fill the places that no bit needs.
        for weight in range(self.width):
            if constant >> weight & 1:
                self.columns[weight].append(TRUE)

    def _add(self, trit: int, term: Term) -> int:
        """Put a trit's bits into the heap, and return its value when they are all 0."""
        if isinstance(term, Number):
            return self._add_number(trit, term)
        match sorted(set(term)):
            case [value]:
                return value
            case [-1, 0]:
                self.columns[0].append(~self._input(InputBit(trit, Plane.MINUS)))
            case [0, 1]:
                self.columns[0].append(self._input(InputBit(trit, Plane.PLUS)))
            case [-1, 1]:
                self.columns[1].append(self._input(InputBit(trit, Plane.PLUS)))
            case _:
                planes = [self._input(InputBit(trit, plane)) for plane in Plane]
                self.trits.append(_Trit(*planes))
        return min(term)

    def _add_number(self, trit: int, number: Number) -> int:
        if number.low == number.high:
            return number.low
        for wire in range(number.num_wires):
            # What is beyond the range of the sum is a multiple of what it is counted by.
            if number.shift + wire < self.width:
                bit = self._input(NumberBit(trit, number, wire))
                self.columns[number.shift + wire].append(bit)
        return number.base

    def _input(self, source: InputBit | NumberBit) -> Bit:
        bit = self.new_bit()
        self._inputs[bit] = source
        return bit

    def new_bit(self) -> Bit:
        """Return the number of a new bit."""
        self._num_bits += 1
        return self._num_bits

    def take(self, weight: int, count: int) -> list[Bit]:
        """Take bits out of a column, the oldest first."""
        column = self.columns[weight]
        taken, column[:] = column[:count], column[count:]
        return taken

    def take_last(self, weight: int, count: int) -> list[Bit]:
        """Take bits out of a column that need not be inverted, the newest first."""
        column = self.columns[weight]
        taken = sorted(column, key=lambda bit: bit < 0)[:count]
        for bit in taken:
            column.remove(bit)
        return taken

    def make(self, weight: int) -> Bit | None:
        """Return a new bit that the next level will find; None if the sum has no such bit."""
        if weight >= self.width:
            return None
        bit = self.new_bit()
        self._made[weight].append(bit)
        return bit

    def height(self, weight: int) -> int:
        """Return how many bits a column has left in this level."""
        return len(self.columns[weight]) if weight < self.width else 0

    def next_height(self, weight: int) -> int:
        """Return how many bits the next level will find in a column."""
        return len(self.columns[weight]) + len(self._made[weight])

    def place(self, cell: Cell) -> None:
        """Put a cell into this level."""
        self._cells.append(cell)

    def spill_trits(self) -> None:
        """Turn the trits that are left into bits: v + 1 is [v=+1] + [v≥0]."""
        for trit in self.trits:
            self.columns[0][:0] = [trit.plus, ~trit.minus]
        self.trits.clear()

    @property
    def lowest_pair(self) -> int | None:
        """The first column that has more than one bit."""
        return next((w for w in range(self.width) if self.height(w) > 1), None)

    @property
    def is_two_numbers(self) -> bool:
        """Whether the bits are two numbers and a carry, and nothing has been placed."""
        return self._is_rows(2, 3)

    @property
    def is_three_numbers(self) -> bool:
        """Whether the bits are three numbers and two carries, and nothing has been placed."""
        return self._is_rows(3, 5)

    def _is_rows(self, height: int, first_height: int) -> bool:
        first = self.lowest_pair
        most = [first_height if weight == first else height for weight in range(self.width)]
        return not (self.trits or self._cells) and all(
            len(column) <= limit for column, limit in zip(self.columns, most, strict=True)
        )

    @property
    def is_number(self) -> bool:
        """Whether no column has more than one bit, this level's results included."""
        return all(self.next_height(weight) <= 1 for weight in range(self.width))

    def next_level(self) -> None:
        """End a level; what it made stands before what it left, constants last."""
        self._levels.append(tuple(self._cells))
        self._cells = []
        for column, made in zip(self.columns, self._made, strict=True):
            column.extend(made)
            column.sort(key=lambda bit: bit == TRUE)
            made.clear()

    def plan(self) -> Plan:
        """Return what has been placed."""
        self.next_level()
        result = tuple(column[0] if column else FALSE for column in self.columns)
        needed = _reals(result)
        levels: list[Level] = []
        for cells in reversed(self._levels):
            levels.append(Level(cells, tuple(sorted(needed))))
            made = {bit for cell in cells for bit in cell.outputs}
            needed = (needed - made) | _reals(bit for cell in cells for bit in cell.inputs)
        inputs = {bit: source for bit, source in self._inputs.items() if bit in needed}
        return Plan(inputs, tuple(reversed(levels)), result)


def _reals(bits: Iterable[Bit]) -> set[Bit]:
    """Return bits without complements and constants."""
    return {max(bit, ~bit) for bit in bits} - {FALSE}


def _present(*bits: Bit | None) -> tuple[Bit, ...]:
    return tuple(bit for bit in bits if bit is not None)


class _Planner(Protocol):
    """What to place for a kind of part."""

    @staticmethod
    def trits(heap: _Heap, recoded: bool) -> None:
        """Place what turns trits into bits."""

    @staticmethod
    def level(heap: _Heap) -> None:
        """Place one level of adders."""


class _Generic:
    """Full adders, which every part has in some form, and one adder of two numbers at the end."""

    @staticmethod
    def trits(heap: _Heap, recoded: bool) -> None:
        """Add three trits at a time, which pays only if [v=0] need not be made for it."""
        while recoded and len(heap.trits) >= 3:
            three, heap.trits[:] = heap.trits[:3], heap.trits[3:]
            zeros, pluses = tuple(t.zero for t in three), tuple(t.plus for t in three)
            heap.place(TritAdder(zeros, pluses, _present(*map(heap.make, range(3)))))
        heap.spill_trits()

    @staticmethod
    def level(heap: _Heap) -> None:
        """Lower all columns to the next of Dadda's heights, with as few adders as that takes."""
        if heap.is_two_numbers:
            _Generic._end(heap)
            return
        goal = 2
        while goal * 3 // 2 < max(map(heap.next_height, range(heap.width))):
            goal = goal * 3 // 2
        for weight in range(heap.width):
            while heap.height(weight) >= 2 and (excess := heap.next_height(weight) - goal) > 0:
                bits = heap.take(weight, 2 if excess == 1 else 3)
                made = _present(heap.make(weight), heap.make(weight + 1))
                heap.place(Counter(tuple(bits), made))

    @staticmethod
    def _end(heap: _Heap) -> None:
        first = heap.lowest_pair
        if first is None:
            return
        columns = [heap.take(weight, 3) for weight in range(first, heap.width)]
        carry = columns[0].pop() if len(columns[0]) == 3 else FALSE
        a, b = zip(*([*column, FALSE, FALSE][:2] for column in columns), strict=True)
        made = _present(*map(heap.make, range(first, heap.width)))
        heap.place(Adder(a, b, carry, made))


@dataclass(frozen=True, slots=True)
class _Segment:
    """Part of a carry chain: the carry that enters, its positions, and the carry that leaves."""

    carry_in: Bit
    positions: tuple[Position, ...]
    carry_out: Bit | None


def _table(num_pins: int, function: Callable[..., int]) -> int:
    rows = range(1 << num_pins)
    return sum(function(*(row >> pin & 1 for pin in range(num_pins))) << row for row in rows)


_ADD = _table(2, lambda a, b: a ^ b), _table(2, lambda a, b: a)


def _add(heap: _Heap, weight: int, bits: Sequence[Bit]) -> Position:
    """Add up to two bits to the carry."""
    pins = (*bits, FALSE, FALSE)[:2]
    return Position(pins, *_ADD, sum=heap.make(weight))


def _ripple(heap: _Heap, weight: int) -> _Segment:
    """Add pairs of bits from a column upwards, as far as there are pairs, and a carry."""
    (carry,) = heap.take(weight, 1)
    positions = []
    while heap.height(weight) >= 2:
        positions.append(_add(heap, weight, heap.take(weight, 2)))
        weight += 1
    return _Segment(carry, tuple(positions), heap.make(weight))


def _ripple_to_the_end(heap: _Heap) -> _Segment | None:
    """Add two numbers, which is the last of all."""
    first = heap.lowest_pair
    if first is None:
        return None
    (carry,) = heap.take(first, 1) if heap.height(first) == 3 else (FALSE,)
    weights = range(first, heap.width)
    return _Segment(carry, tuple(_add(heap, w, heap.take(w, 2)) for w in weights), None)


class _Ecp5:
    """Carry chains of CCU2C.

    A position can look at four bits, but what it generates depends on the first two only: it is
    what it would propagate if the others were 0, unless the last pin is tied to 1.
    """

    @staticmethod
    def trits(heap: _Heap, recoded: bool) -> None:
        """Do nothing: trits are added in the first level."""

    @staticmethod
    def level(heap: _Heap) -> None:
        """Add three trits, five bits or two numbers at a time."""
        if heap.is_two_numbers:
            last = _ripple_to_the_end(heap)
            _Ecp5._place(heap, [] if last is None else [last])
            return
        segments = []
        while len(heap.trits) >= 3:
            segments.append(_Ecp5._three_trits(heap))
        heap.spill_trits()
        for weight in range(heap.width):
            while heap.height(weight) >= 3:
                segments.append(
                    _Ecp5._five_bits(heap, weight)
                    if heap.height(weight) >= 5 and heap.height(weight + 1) < 2
                    else _ripple(heap, weight)
                )
        _Ecp5._place(heap, segments)

    _LOW = (_table(3, lambda x, y, m: x ^ y ^ 1 ^ m), _table(3, lambda x, y, m: x))
    _HIGH = (
        _table(4, lambda p, m, q, y: p ^ q ^ (y & ~m & 1)),
        _table(4, lambda p, m, q, y: p),
    )

    @staticmethod
    def _three_trits(heap: _Heap) -> _Segment:
        """Add three trits, each counted from −1, in two positions.

        Two zeros and both halves of the third trit, [v≥0] and [v=+1], are up to four, more than one
        carry can tell. So if [v≥0] and the second zero are set, the carry leaves those two out, and
        the next position counts them. That position cannot overflow: a zero excludes its plus.
        """
        (a, b, c), heap.trits[:] = heap.trits[:3], heap.trits[3:]
        low = Position((a.zero, b.zero, c.minus), *_Ecp5._LOW, sum=heap.make(0))
        high = Position((a.plus, c.minus, b.plus, b.zero), *_Ecp5._HIGH, sum=heap.make(1))
        return _Segment(c.plus, (low, high), heap.make(2))

    _ODD = (_table(4, lambda a, b, c, d: a ^ b ^ c ^ d), _table(4, lambda a, b, c, d: a ^ b))
    _PAIRS = (
        _table(4, lambda a, b, c, d: (a & b) ^ (c & d)),
        _table(4, lambda a, b, c, d: a & b),
    )

    @staticmethod
    def _five_bits(heap: _Heap, weight: int) -> _Segment:
        """Count five bits in two positions.

        The first carry leaves out a and b if both are set, and c and d likewise; the second
        position counts these pairs.
        """
        bits = heap.take(weight, 5)
        # The last two pins must be the bits themselves, see the class.
        bits.sort(key=lambda bit: bit > 0)
        carry, *pins = bits
        if pins[2] < 0:
            heap.columns[weight][:0] = bits
            return _ripple(heap, weight)
        odd = Position(tuple(pins), *_Ecp5._ODD, sum=heap.make(weight))
        pairs = Position(tuple(pins), *_Ecp5._PAIRS, sum=heap.make(weight + 1))
        return _Segment(carry, (odd, pairs), heap.make(weight + 2))

    @staticmethod
    def _place(heap: _Heap, segments: Sequence[_Segment]) -> None:
        """Join segments to chains.

        One position between two of them takes the carry out of the one as its sum and generates
        the carry into the other. One more stands before the first, because nextpnr would spend a
        whole slice on a carry from elsewhere, be it a constant.
        """
        positions: list[Position] = []
        carry_out: Bit | None = None
        for segment in segments:
            if len(positions) + len(segment.positions) + 2 > heap.max_chain:
                _Ecp5._end(heap, positions, carry_out)
                positions, carry_out = [], None
            positions.append(Position((segment.carry_in,), 0b00, 0b10, sum=carry_out))
            positions += segment.positions
            carry_out = segment.carry_out
        _Ecp5._end(heap, positions, carry_out)

    @staticmethod
    def _end(heap: _Heap, positions: Sequence[Position], carry_out: Bit | None) -> None:
        last = () if carry_out is None else (Position((), 0, 0, sum=carry_out),)
        if positions:
            heap.place(Chain(FALSE, (*positions, *last)))


class _Carry:
    """Adders of two numbers and a carry, for parts whose tools make carry chains of ``+``."""

    @staticmethod
    def trits(heap: _Heap, recoded: bool) -> None:
        """Add three trits at a time, as without carry chains."""
        _Generic.trits(heap, recoded)

    @staticmethod
    def level(heap: _Heap) -> None:
        """Add two numbers at a time, and count three bits where there are no numbers yet."""
        if heap.is_two_numbers:
            _Generic._end(heap)
            return
        for weight in range(heap.width):
            while heap.height(weight) >= 3:
                _Carry._add(heap, weight)

    @staticmethod
    def _add(heap: _Heap, weight: int) -> None:
        carry, *first = heap.take(weight, 3)
        a, b = [first[0]], [first[1]]
        made = [heap.make(weight)]
        weight += 1
        while heap.height(weight) >= 2:
            for number, bit in zip((a, b), heap.take(weight, 2), strict=True):
                number.append(bit)
            made.append(heap.make(weight))
            weight += 1
        outputs = _present(*made, heap.make(weight))
        if len(a) == 1:
            # A chain would cost two places more.
            heap.place(Counter((carry, *a, *b), outputs))
        else:
            heap.place(Adder(tuple(a), tuple(b), carry, outputs))


class _Xilinx:
    """Carry chains of CARRY4 with a LUT6_2 at each position.

    A position looks at six bits and generates one of them, or at five and generates any function,
    or generates one of five and makes any function on its side. The carry into a chain and the one
    out of it cost nothing.
    """

    @staticmethod
    def trits(heap: _Heap, recoded: bool) -> None:
        """Turn trits into bits: six pins take three of them as they are."""
        heap.spill_trits()

    @staticmethod
    def level(heap: _Heap) -> None:
        """Count seven bits at a time, then add what is left as three numbers at a time."""
        if heap.is_three_numbers:
            _Xilinx._three_numbers(heap, to_the_end=True)
            return
        for weight in range(heap.width):
            while heap.height(weight) >= 7:
                _Xilinx._sevens(heap, weight)
            while heap.height(weight) >= 3:
                _Xilinx._three_numbers(heap, weight)

    _ODD = (_table(6, lambda *a: sum(a) & 1), _table(6, lambda *a: a[5]))
    _PAIRS = (_table(5, lambda *a: sum(a) >> 1 & 1), _table(5, lambda *a: sum(a) >> 2))

    @staticmethod
    def _sevens(heap: _Heap, weight: int) -> None:
        """Count seven bits in two positions, and six more of the carry's weight while there are.

        With the carry in, the first position adds seven bits, and its carry out leaves the pairs
        among the first five to the second.
        """
        (carry,) = heap.take_last(weight, 1)
        positions = []
        while True:
            bits = tuple(heap.take(weight, 5) + heap.take_last(weight, 1))
            positions.append(Position(bits, *_Xilinx._ODD, sum=heap.make(weight)))
            weight += 2
            is_last = heap.height(weight) < 6
            made = heap.make(weight - 1), heap.make(weight) if is_last else None
            positions.append(Position(bits[:5], *_Xilinx._PAIRS, *made))
            if is_last:
                heap.place(Chain(carry, tuple(positions)))
                return

    _THREE = (_table(4, lambda a, b, c, x: a ^ b ^ c ^ x), _table(4, lambda a, b, c, x: x))
    _MAJORITY = _table(4, lambda a, b, c, x: a + b + c >= 2)

    @staticmethod
    def _three_numbers(heap: _Heap, weight: int = 0, *, to_the_end: bool = False) -> None:
        """Add three bits of each column and two more of the first, as far as there are three.

        Each position hands the next one two carries: the majority of its three bits, on its side,
        and that of their parity and of the two carries that it has got itself.
        """
        if to_the_end:
            if heap.lowest_pair is None:
                return
            weight = heap.lowest_pair
        extra = max(0, min(2, heap.height(weight) - 3))
        carry, side = (*heap.take_last(weight, extra), FALSE, FALSE)[:2]
        positions: list[Position] = []
        is_last = False
        while not is_last:
            pins = (*(*heap.take(weight, 3), FALSE, FALSE, FALSE)[:3], side)
            made = heap.make(weight)
            weight += 1
            is_last = weight == heap.width or not (to_the_end or heap.height(weight) >= 3)
            # Carries beyond the last column are out of the range of the sum.
            out = heap.make(weight) if is_last else None
            last_side = heap.make(weight) if is_last else heap.new_bit()
            positions.append(
                Position(pins, *_Xilinx._THREE, made, out, last_side, _Xilinx._MAJORITY)
            )
            side = FALSE if last_side is None else last_side
        heap.place(Chain(carry, tuple(positions)))


PLANNERS: dict[str, type[_Planner]] = {
    "generic": _Generic,
    "carry": _Carry,
    "ecp5": _Ecp5,
    "xilinx": _Xilinx,
}
"""How to plan for each kind of part."""

SUM_TARGETS = tuple(PLANNERS)
"""What sums can be made of: any logic, any carry chain, or the cells of a family."""

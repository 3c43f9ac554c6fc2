"""Proof of the loader of AXI4-Streams: packets of the right length become vectors, others none.

All bits of a beat go the same way, so one of them speaks for all. Then beats get numbers instead of
contents, in the order in which they are taken, and what a vector must be is said in these numbers:
the beats of the last packet, which had as many as a vector has. One invariant holds after reset,
and from the initial values on, and survives every cycle. That is induction, so it holds for ever.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from trilut.verify.proof.aig import FALSE, TRUE, Aig, Literal
from trilut.verify.proof.design import Bit, BitNetlist, PipelineError
from trilut.verify.proof.machine import Machine, Step
from trilut.verify.proof.specification import below, equal, signed_sum
from trilut.verify.proof.subject import Subject
from trilut.verify.proof.sweep import HARD_SOLVER, Sweeper

__all__ = ["check_loader"]

Number = list[Literal]

_COUNT, _FULL, _ERROR = _FLAGS = ("count", "vector_valid", "framing_error")
_WIRES = {
    "s_axis_tdata": "beat",
    "s_axis_tlast": "last",
    "s_axis_tvalid": "beat_valid",
    "s_axis_tready": "beat_ready",
    "framing_error": "framing_error",
    "rst": "rst",
}
_TO_CONTROL = {"vector_valid": "in_valid", "vector_ready": "advance"}


def check_loader(subject: Subject) -> int:
    """Prove that a loader makes vectors of packets, and return the number of beats of one.

    Raises
    ------
    PipelineError
        If it does not.
    """
    assert subject.interface.axi is not None
    subject.check_wires("loader", _WIRES)
    for mine, other in _TO_CONTROL.items():
        if subject.pins("loader", mine) != subject.pins("control", other):
            raise PipelineError(
                f"Port {mine!r} of block 'loader' is not wired to {other!r} of block 'control'"
            )
    width = sum(map(len, subject.interface.packet.values()))
    if len(subject.pins("loader", "vector")) != width:
        raise PipelineError(f"Port 'vector' of block 'loader' has not the {width} bits of a vector")
    num_beats = subject.interface.num_beats
    _Loader(subject.block("loader"), num_beats, subject.interface.axi.beat_bits).prove()
    return num_beats


@dataclass(frozen=True, slots=True)
class _State:
    """The registers of a loader but for the beats that it holds."""

    count: Number
    is_full: Literal
    is_error: Literal


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the beats that were taken so far say.

    Parameters
    ----------
    position : Number
        How many beats of the packet under way were taken; one more than a vector has means more.
    is_whole : Literal
        Whether the last packet that ended had as many as a vector, which was not handed on yet.
    is_wrong : Literal
        Whether a packet of another length ended in the cycle before.
    taken : Number
        The number of the next beat.
    """

    position: Number
    is_whole: Literal
    is_wrong: Literal
    taken: Number


class _Loader:
    def __init__(self, netlist: BitNetlist, num_beats: int, beat_bits: int):
        self._netlist = netlist
        self._num_beats = num_beats
        self._beat_bits = beat_bits
        # If all its bits are those of a vector, Yosys knows it by the name of the port.
        held = "register" if "register" in netlist.nets else "vector"
        self._held = contents = netlist.nets[held]
        unread = set(contents) - netlist.bits_read()
        self._machine = Machine("loader", netlist, (*_FLAGS, held), unread)
        if len(contents) != num_beats * beat_bits:
            raise PipelineError(
                f"Block 'loader' holds {len(contents)} bits, expected {num_beats} beats of "
                f"{beat_bits}"
            )
        for name in (_FULL, _ERROR):
            if len(netlist.nets[name]) != 1:
                raise PipelineError(f"Register {name!r} of block 'loader' has more than one bit")
        self._aig = Aig()
        self._beat_valid, self._last, self._vector_ready = self._aig.inputs(3)
        self._state = _State(
            self._aig.inputs(len(netlist.nets[_COUNT])), self._aig.input(), self._aig.input()
        )
        # Signed, and wide enough that the numbers of all beats in a vector differ.
        self._width = max((num_beats + 2).bit_length(), len(self._state.count)) + 2

    def prove(self) -> None:
        """Prove the invariant, and what it means at the ports."""
        aig = self._aig
        way = self._check_contents()
        step = self._step(FALSE, self._no_contents())
        facts = self._free_facts()
        after = self._facts_after(facts, self._is_ready(step))
        constraints = [self._agree(self._state, facts)]
        sweeper = Sweeper(aig, constraints, solver=HARD_SOLVER)
        for objection, literals in (
            *self._at_ports(step, facts),
            *self._in_next_cycle(self._after(step), after),
            ("A beat is not in its place in a vector", self._misplaced(way, facts, after)),
        ):
            if sweeper.example(literals) is not None:
                raise PipelineError(objection)
        reset = self._after(self._step(TRUE, self._no_contents()))
        for objection, state in (
            ("Reset does not empty the loader", reset),
            ("The loader may not be empty at first", self._first_state() or reset),
        ):
            if Sweeper(aig, solver=HARD_SOLVER).example([self._is_empty(state) ^ 1]) is not None:
                raise PipelineError(objection)

    def _check_contents(self) -> tuple[Literal, Literal, Literal]:
        """Check that bits of beats all go the same way and that nothing else depends on them.

        Returns
        -------
        before, above, after
            What a bit holds, what the same bit of the next beat holds, and what it holds next.
        """
        aig, nets, ports = self._aig, self._netlist.nets, self._netlist.ports
        contents = aig.inputs(len(self._held) + self._beat_bits)
        leaves = {literal >> 1 for literal in contents}
        step = self._step(aig.input(), contents)
        others = [step.after(bit) for name in _FLAGS for bit in nets[name]]
        others.append(step.now(ports["beat_ready"][0]))
        if not leaves.isdisjoint(aig.cone(others)):
            raise PipelineError("Block 'loader' looks into beats")
        for place, bit in enumerate(ports["vector"]):
            if step.now(bit) != contents[place]:
                raise PipelineError(f"Bit {place} of a vector is not bit {place} of its beats")
        before, above = aig.inputs(2)
        ways = set()
        for place, bit in enumerate(self._held):
            if bit in self._netlist.registers:
                own = {
                    contents[place] >> 1: before,
                    contents[place + self._beat_bits] >> 1: above,
                }
                ways.update(aig.substitute([step.after(bit)], own))
        if len(ways) > 1 or not leaves.isdisjoint(aig.cone(ways)):
            raise PipelineError("Bits of beats in block 'loader' do not all go the same way")
        return before, above, ways.pop()

    def _no_contents(self) -> list[Literal]:
        return [FALSE] * (len(self._held) + self._beat_bits)

    def _step(self, reset: Literal, contents: list[Literal]) -> Step:
        """Return a cycle, given the bits of all beats that are held and of the one that comes."""
        nets, ports, now = self._netlist.nets, self._netlist.ports, self._state
        held = len(self._held)
        known: dict[Bit, Literal] = {
            ports["beat_valid"][0]: self._beat_valid,
            ports["last"][0]: self._last,
            ports["vector_ready"][0]: self._vector_ready,
            ports["rst"][0]: reset,
            nets[_FULL][0]: now.is_full,
            nets[_ERROR][0]: now.is_error,
            **dict(zip(nets[_COUNT], now.count, strict=True)),
            **dict(zip(self._held, contents[:held], strict=True)),
            **dict(zip(ports["beat"], contents[held:], strict=True)),
        }
        return self._machine.step(self._aig, known)

    def _is_ready(self, step: Step) -> Literal:
        return step.now(self._netlist.ports["beat_ready"][0])

    def _after(self, step: Step) -> _State:
        nets = self._netlist.nets
        return _State(
            [step.after(bit) for bit in nets[_COUNT]],
            step.after(nets[_FULL][0]),
            step.after(nets[_ERROR][0]),
        )

    def _first_state(self) -> _State | None:
        """Return the state that the initial values are; None if there are none."""
        first = self._machine.first(self._aig, _FLAGS)
        if first is None:
            return None
        return _State(first[_COUNT], first[_FULL][0], first[_ERROR][0])

    def _is_empty(self, state: _State) -> Literal:
        nothing = [*state.count, state.is_full, state.is_error]
        return self._aig.any(nothing) ^ 1

    def _free_facts(self) -> _Facts:
        aig = self._aig
        position = [*aig.inputs(self._width - 1), FALSE]
        return _Facts(position, aig.input(), aig.input(), aig.inputs(self._width))

    def _agree(self, state: _State, facts: _Facts) -> Literal:
        """Return whether registers are what the beats say, in a state that can occur."""
        aig = self._aig
        return aig.all(
            [
                equal(aig, [*state.count, FALSE], facts.position),
                below(aig, facts.position, self._constant(self._num_beats + 1)),
                aig.differ(state.is_full, facts.is_whole) ^ 1,
                aig.differ(state.is_error, facts.is_wrong) ^ 1,
            ]
        )

    def _facts_after(self, facts: _Facts, is_ready: Literal) -> _Facts:
        """Return what the beats say one cycle later, if a ready loader takes them."""
        aig = self._aig
        taken = aig.both(self._beat_valid, is_ready)
        ends = aig.both(taken, self._last)
        is_right = equal(aig, facts.position, self._constant(self._num_beats - 1))
        is_more = equal(aig, facts.position, self._constant(self._num_beats))
        counted = self._sum(facts.position, [FALSE], aig.both(taken, is_more ^ 1))
        waits = aig.both(facts.is_whole, self._vector_ready ^ 1)
        return _Facts(
            [aig.both(bit, ends ^ 1) for bit in counted],
            aig.either(aig.both(ends, is_right), waits),
            aig.both(ends, is_right ^ 1),
            self._sum(facts.taken, [FALSE], taken),
        )

    def _at_ports(self, step: Step, facts: _Facts) -> Iterator[tuple[str, list[Literal]]]:
        """Yield what would be wrong at the ports in this cycle if some literals were all TRUE."""
        aig, ports = self._aig, self._netlist.ports
        is_ready = self._is_ready(step)
        waits = aig.both(facts.is_whole, self._vector_ready ^ 1)
        yield "A beat is taken while a vector waits", [is_ready, waits]
        yield "A beat is not taken though no vector waits", [is_ready ^ 1, waits ^ 1]
        for port, fact in ((_FULL, facts.is_whole), (_ERROR, facts.is_wrong)):
            yield (
                f"Port {port!r} of the loader is wrong",
                [aig.differ(step.now(ports[port][0]), fact)],
            )

    def _in_next_cycle(self, state: _State, facts: _Facts) -> Iterator[tuple[str, list[Literal]]]:
        """Yield in what the registers may differ from what the beats say one cycle later."""
        aig = self._aig
        is_counted = equal(aig, [*state.count, FALSE], facts.position)
        yield "The loader loses count of the beats of a packet", [is_counted ^ 1]
        yield (
            "A vector is lost, doubled, or made of a packet of another length",
            [aig.differ(state.is_full, facts.is_whole)],
        )
        yield (
            "'framing_error' is not that a packet of another length has ended",
            [aig.differ(state.is_error, facts.is_wrong)],
        )

    def _misplaced(
        self, way: tuple[Literal, Literal, Literal], facts: _Facts, after: _Facts
    ) -> list[Literal]:
        """Return that some place does not hold its beat in the next cycle, though it does in this.

        Any place: which one is a number too. The last place takes the beat that comes.
        """
        aig, width = self._aig, self._width
        place = [*aig.inputs(width - 1), FALSE]
        own, above = aig.inputs(width), aig.inputs(width)
        next_place = self._sum(place, [FALSE], TRUE)
        is_last = equal(aig, place, self._constant(self._num_beats - 1))
        comes = equal(aig, above, facts.taken)
        before_is_right = aig.choose(is_last, comes, self._is_right(next_place, above, facts))
        before, over, moved = way
        held = [
            aig.substitute([moved], {before >> 1: mine, over >> 1: other})[0]
            for mine, other in zip(own, above, strict=True)
        ]
        return [
            below(aig, place, self._constant(self._num_beats)),
            self._is_right(place, own, facts),
            before_is_right,
            self._is_right(place, held, after) ^ 1,
        ]

    def _is_right(self, place: Number, number: Number, facts: _Facts) -> Literal:
        """Return whether a place holds its beat, if it must: of a vector, or a packet under way."""
        aig = self._aig
        filled = self._sum(place, facts.position)
        must = aig.either(facts.is_whole, below(aig, filled, self._constant(self._num_beats)) ^ 1)
        expected = self._sum(self._sum(facts.taken, place), self._constant(-self._num_beats))
        return aig.either(must ^ 1, equal(aig, number, expected))

    def _sum(self, a: Number, b: Number, carry: Literal = FALSE) -> Number:
        return signed_sum(self._aig, a, b, self._width, carry)

    def _constant(self, value: int) -> Number:
        return [value >> place & 1 for place in range(self._width)]

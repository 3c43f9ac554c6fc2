"""Proof of the handshake: nothing is lost, doubled or overtaken, and a result holds while it waits.

First, every register outside the block ``control`` moves exactly when control says so. So the
stages are a shift register, and what they compute does not matter. Control treats all bits of a
result alike, so one of them speaks for all. Then vectors get numbers instead of contents, and one
invariant is shown to hold after reset, and from the initial values on, and to survive every cycle:
from the output back to the input, the places that are occupied hold consecutive numbers, from the
next one to be delivered to the last one that was taken. That is induction, so it holds for ever.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from trilut.verify.proof.aig import FALSE, TRUE, Aig, Literal
from trilut.verify.proof.design import Bit, BitNetlist, PipelineError
from trilut.verify.proof.machine import Machine, Step
from trilut.verify.proof.specification import equal, signed_sum
from trilut.verify.proof.subject import STATE, Subject
from trilut.verify.proof.sweep import HARD_SOLVER, Sweeper

__all__ = ["advance_bit", "check_stream"]

Number = list[Literal]

# The registers of control: single bits, those of a result, and one for each stage.
_FLAGS = ("is_valid", "advance", "turn", "full_0", "full_1")
_RESULTS = ("result_0", "result_1")
_STAGES = "occupied"


def check_stream(subject: Subject) -> int:
    """Prove the handshake of a design, and return the number of its registers.

    Raises
    ------
    PipelineError
        If it does not hold.
    """
    count = _check_enables(subject)
    _check_wires(subject)
    control = subject.block("control")
    _Control(control, subject.latency - 1).prove()
    return count + len(control.registers)


def advance_bit(subject: Subject) -> Bit:
    """Return the bit that lets the stages move."""
    return subject.pins("control", "advance")[0]


def _check_enables(subject: Subject) -> int:
    """Prove that all registers of the stages move together, and count them."""
    advance = advance_bit(subject)
    count = _check_registers(subject.main, advance)
    for block in subject.blocks:
        netlist = subject.block(block)
        has_enable = bool(netlist.registers) or "en" in netlist.ports
        if block in ("control", "loader", STATE) or not has_enable:
            continue
        # All of the port: what follows takes it to be 1 when the stages move.
        if list(subject.pins(block, "en")) != [advance]:
            raise PipelineError(f"Block {block!r} is not enabled by 'advance'")
        count += _check_registers(netlist, netlist.ports["en"][0])
    return count


def _check_registers(netlist: BitNetlist, enable: Bit) -> int:
    for bit, register in netlist.registers.items():
        if register.enable != enable or not register.enable_level:
            raise PipelineError(f"{netlist.describe(bit)} does not move with the others")
    return len(netlist.registers)


_WIRES = {
    "in_valid": "in_valid",
    "in_ready": "advance",
    "out_ready": "out_ready",
    "out_valid": "is_valid",
    "rst": "rst",
}
_AXI_WIRES = {"m_axis_tready": "out_ready", "m_axis_tvalid": "is_valid", "rst": "rst"}


def _check_wires(subject: Subject) -> None:
    for inner in ("i", "o"):
        subject.pins("control", inner)
    subject.check_wires("control", _AXI_WIRES if subject.has_loader else _WIRES)


@dataclass(frozen=True, slots=True)
class _State:
    """What is known of all places, in numbers: the next one to deliver and to take, and between."""

    delivered: Number
    taken: Number
    is_valid: Literal
    advance: Literal
    turn: Literal
    full: list[Literal]
    results: list[Number]
    occupied: list[Literal]
    stages: list[Number]


class _Control:
    def __init__(self, netlist: BitNetlist, depth: int):
        self._machine = Machine("control", netlist, (*_FLAGS, *_RESULTS, _STAGES))
        self._netlist = netlist
        self._depth = depth
        if len(netlist.nets[_STAGES]) != depth:
            raise PipelineError(
                f"Block 'control' has {len(netlist.nets[_STAGES])} stages, but the latency is "
                f"{depth + 1} cycles"
            )
        # Two results can wait behind the stages.
        self._width = (depth + 2).bit_length()
        self._aig = Aig()
        self._in_valid, self._out_ready = self._aig.inputs(2)
        self._state = self._free_state()
        self._shown: Number = []

    def prove(self) -> None:
        """Prove the invariant, and that results hold and the pipeline never stops for good."""
        self._check_payload()
        aig, now = self._aig, self._state
        after = self._next(FALSE)
        holds = self._invariant(now)
        sweeper = Sweeper(aig, solver=HARD_SOLVER)
        waits = aig.both(now.is_valid, self._out_ready ^ 1)
        result = self._in_turn(now, 0)
        kept = aig.both(after.is_valid, equal(aig, result, self._in_turn(after, 0)))
        claims = {
            "A result comes out that is not next": [
                now.is_valid,
                equal(aig, self._shown, result) ^ 1,
            ],
            "A result changes while it waits": [holds, waits, kept ^ 1],
            "A vector is lost, doubled or overtaken": [holds, self._invariant(after) ^ 1],
            "The pipeline stays stopped": [self._out_ready, after.advance ^ 1],
            "Reset does not empty the pipeline": [self._is_empty(self._next(TRUE)) ^ 1],
            "The pipeline may not be empty at first": [self._is_empty(self._first_state()) ^ 1],
        }
        for objection, literals in claims.items():
            if sweeper.example(literals) is not None:
                raise PipelineError(objection)

    def _is_empty(self, state: _State) -> Literal:
        """Return whether the invariant holds, and all that was taken has been delivered."""
        return self._invariant(dataclasses.replace(state, delivered=state.taken))

    def _first_state(self) -> _State:
        """Return the state that the initial values are, free where there is none.

        Where there are none at all, nothing is promised before a reset: that is an empty pipeline.
        """
        first = self._machine.first(self._aig, (*_FLAGS, _STAGES))
        if first is None:
            return self._next(TRUE)
        is_valid, advance, turn, *full = (first[name][0] for name in _FLAGS)
        return dataclasses.replace(
            self._state,
            is_valid=is_valid,
            advance=advance,
            turn=turn,
            full=full,
            occupied=first[_STAGES],
        )

    def _free_state(self) -> _State:
        def number() -> Number:
            return self._aig.inputs(self._width)

        return _State(
            number(),
            number(),
            self._aig.input(),
            self._aig.input(),
            self._aig.input(),
            self._aig.inputs(2),
            [number(), number()],
            self._aig.inputs(self._depth),
            [number() for _ in range(self._depth)],
        )

    def _invariant(self, state: _State) -> Literal:
        """Return whether the occupied places hold consecutive numbers, the oldest first."""
        aig = self._aig
        either, both = aig.either(*state.full), aig.both(*state.full)
        places = [
            (either, self._in_turn(state, 0)),
            (both, self._in_turn(state, 1)),
            *reversed(list(zip(state.occupied, state.stages, strict=True))),
        ]
        expected = state.delivered
        # If there is one result, it is its turn.
        in_turn = aig.choose(state.turn, state.full[1], state.full[0])
        result = aig.either(either ^ 1, in_turn)
        for flag, meaning in ((state.is_valid, either), (state.advance, both ^ 1)):
            result = aig.both(result, aig.differ(flag, meaning) ^ 1)
        for is_there, number in places:
            right = equal(aig, number, expected)
            result = aig.both(result, aig.either(is_there ^ 1, right))
            expected = self._increment(expected, is_there)
        return aig.both(result, equal(aig, expected, state.taken))

    def _in_turn(self, state: _State, place: int) -> Number:
        """Return the result whose turn it is, or the one behind it."""
        first, second = state.results[place], state.results[1 - place]
        return [
            self._aig.choose(state.turn, right, left)
            for left, right in zip(first, second, strict=True)
        ]

    def _increment(self, number: Number, by: Literal) -> Number:
        return signed_sum(self._aig, number, [FALSE], self._width, by)

    def _next(self, reset: Literal) -> _State:
        """Return the state one cycle later."""
        aig, now = self._aig, self._state
        last = now.stages[-1] if now.stages else now.taken
        slices = [self._slice(reset, last, place) for place in range(self._width)]
        first = slices[0]
        self._shown = [step["o"][0] for step in slices]
        accepted = aig.both(self._in_valid, now.advance)
        delivered = aig.both(now.is_valid, self._out_ready)
        moved = [
            [aig.choose(now.advance, new, old) for new, old in zip(before, stage, strict=True)]
            for before, stage in zip([now.taken, *now.stages[:-1]], now.stages, strict=True)
        ]
        return _State(
            self._increment(now.delivered, delivered),
            self._increment(now.taken, accepted),
            first["is_valid"][0],
            first["advance"][0],
            first["turn"][0],
            [first[name][0] for name in ("full_0", "full_1")],
            [[step[name][0] for step in slices] for name in _RESULTS],
            first[_STAGES],
            moved,
        )

    def _check_payload(self) -> None:
        """Check that control does not look at results, and moves each of their bits the same way.

        Then what is proven for one bit holds for all, and a result stays what it is.
        """
        aig, nets, ports = self._aig, self._netlist.nets, self._netlist.ports
        wires = (nets["result_0"], nets["result_1"], ports["i"])
        if {len(bits) for bits in wires} != {len(ports["o"])}:
            raise PipelineError("Results in block 'control' are of different widths")
        contents = [aig.inputs(len(bits)) for bits in wires]
        step = self._step(aig.input(), *contents)
        flags = [step.after(bit) for name in (*_FLAGS, _STAGES) for bit in nets[name]]
        if not {each >> 1 for column in contents for each in column}.isdisjoint(aig.cone(flags)):
            raise PipelineError("Block 'control' looks into results")
        sample = aig.inputs(3)
        ways = set()
        for place, own in enumerate(zip(*contents, strict=True)):
            way = [step.after(nets[name][place]) for name in _RESULTS]
            way.append(step.now(ports["o"][place]))
            leaves = {mine >> 1: common for mine, common in zip(own, sample, strict=True)}
            ways.add(tuple(aig.substitute(way, leaves)))
        if len(ways) > 1:
            raise PipelineError("Bits of a result in block 'control' do not all go the same way")

    def _step(
        self,
        reset: Literal,
        first: Sequence[Literal],
        second: Sequence[Literal],
        entering: Sequence[Literal],
    ) -> Step:
        """Return control in its present state, with the bits of both results and the next one."""
        now, nets, ports = self._state, self._netlist.nets, self._netlist.ports
        flags = (now.is_valid, now.advance, now.turn, *now.full)
        known: dict[Bit, Literal] = {
            ports["in_valid"][0]: self._in_valid,
            ports["out_ready"][0]: self._out_ready,
            ports["rst"][0]: reset,
            **{nets[name][0]: flag for name, flag in zip(_FLAGS, flags, strict=True)},
            **dict(zip(nets[_STAGES], now.occupied, strict=True)),
            **dict(zip(nets["result_0"], first, strict=True)),
            **dict(zip(nets["result_1"], second, strict=True)),
            **dict(zip(ports["i"], entering, strict=True)),
        }
        return self._machine.step(self._aig, known)

    def _slice(self, reset: Literal, last: Number, place: int) -> dict[str, list[Literal]]:
        """Return the next values of the registers when each bit of a result is one of a number.

        With them comes ``o``, what the output shows now.
        """
        nets, ports = self._netlist.nets, self._netlist.ports
        numbers = (*self._state.results, last)
        step = self._step(reset, *([number[place]] * len(ports["o"]) for number in numbers))
        after = {name: [step.after(bit) for bit in nets[name]] for name in (*_FLAGS, _STAGES)}
        after |= {name: [step.after(nets[name][0])] for name in _RESULTS}
        after["o"] = [step.now(ports["o"][0])]
        return after

"""Proof of the handshake: nothing is lost, doubled or overtaken, and a result holds while it waits.

First, every register outside the block ``control`` moves exactly when control says so. So the
stages are a shift register, and what they compute does not matter. Then vectors get numbers
instead of contents, and one invariant is shown to hold after reset and to survive every cycle: from
the output back to the input, the places that are occupied hold consecutive numbers, from the next
one to be delivered to the last one that was taken. That is induction, so it holds for ever.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trilut.verify.proof.aig import FALSE, TRUE, Aig, Literal
from trilut.verify.proof.design import Bit, BitNetlist, Pipeline, PipelineError
from trilut.verify.proof.specification import equal, signed_sum
from trilut.verify.proof.sweep import HARD_SOLVER, Sweeper

__all__ = ["advance_bit", "check_stream"]

Number = list[Literal]

# The registers of control, but for those that say which stages are occupied.
_FLAGS = ("is_valid", "advance", "turn", "full_0", "full_1")
_RESULTS = ("result_0", "result_1")


def check_stream(modules: Mapping[str, BitNetlist], top: str, latency: int) -> int:
    """Prove the handshake of a design, and return the number of its registers.

    Parameters
    ----------
    modules : mapping
        The modules of a design; ``control`` must be one of them.
    top : str
        The one with the ports.
    latency : int
        Clock cycles from a vector to its result.

    Raises
    ------
    PipelineError
        If it does not hold.
    """
    count = _check_enables(modules, top)
    _check_wires(modules[top])
    _Control(modules[f"{top}_control"], latency - 1).prove()
    return count + len(modules[f"{top}_control"].registers)


def advance_bit(main: BitNetlist) -> Bit:
    """Return the bit that lets the stages move."""
    ports = _control_ports(main)
    if "advance" not in ports:
        raise PipelineError("Block 'control' has no output 'advance'")
    return ports["advance"][0]


def _control_ports(main: BitNetlist) -> Mapping[str, Sequence[Bit]]:
    if "control" not in main.blocks:
        raise PipelineError("The design has no block 'control'")
    return main.blocks["control"]


def _check_enables(modules: Mapping[str, BitNetlist], top: str) -> int:
    """Prove that all registers outside control move together, and count them."""
    main = modules[top]
    advance = advance_bit(main)
    count = 0
    for name, ports in main.blocks.items():
        if name != "control" and ports.get("en", [None])[0] != advance:
            raise PipelineError(f"Block {name!r} is not enabled by 'advance'")
    for module, netlist in modules.items():
        if module == f"{top}_control":
            continue
        enable = advance if module == top else netlist.ports["en"][0]
        count += len(netlist.registers)
        for bit, register in netlist.registers.items():
            if register.enable != enable or not register.enable_level:
                raise PipelineError(f"{netlist.describe(bit)} does not move with the others")
    return count


def _check_wires(main: BitNetlist) -> None:
    ports = _control_ports(main)
    wires = {
        "in_valid": "in_valid",
        "in_ready": "advance",
        "out_ready": "out_ready",
        "out_valid": "is_valid",
        "rst": "rst",
    }
    for port, inner in wires.items():
        if main.ports[port] != ports.get(inner):
            raise PipelineError(f"Port {port!r} is not wired to {inner!r} of block 'control'")


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
        self._netlist = netlist
        self._depth = depth
        # Two results can wait behind the stages.
        self._width = (depth + 2).bit_length()
        for name in (*_FLAGS, *_RESULTS, "occupied"):
            if name not in netlist.nets:
                raise PipelineError(f"Block 'control' has no register {name!r}")
        if len(netlist.nets["occupied"]) != depth:
            raise PipelineError(
                f"Block 'control' has {len(netlist.nets['occupied'])} stages, but the latency is "
                f"{depth + 1} cycles"
            )
        self._aig = Aig()
        self._in_valid, self._out_ready = self._aig.inputs(2)
        self._state = self._free_state()
        self._shown: Number = []

    def prove(self) -> None:
        """Prove the invariant, and that results hold and the pipeline never stops for good."""
        aig, now = self._aig, self._state
        after = self._next(FALSE)
        holds = self._invariant(now)
        sweeper = Sweeper(aig, solver=HARD_SOLVER)
        waits = aig.both(now.is_valid, self._out_ready ^ 1)
        result = self._in_turn(now, 0)
        kept = aig.both(after.is_valid, equal(aig, result, self._in_turn(after, 0)))
        claims = {
            "A result comes out that is not next": [equal(aig, self._shown, result) ^ 1],
            "A result changes while it waits": [holds, waits, kept ^ 1],
            "A vector is lost, doubled or overtaken": [holds, self._invariant(after) ^ 1],
            "The pipeline stays stopped": [self._out_ready, after.advance ^ 1],
        }
        for objection, literals in claims.items():
            if sweeper.example(literals) is not None:
                raise PipelineError(objection)
        emptied = self._next(TRUE)
        if [emptied.is_valid, emptied.advance, *emptied.occupied] != [FALSE, TRUE] + [
            FALSE
        ] * self._depth:
            raise PipelineError("Reset does not empty the pipeline")

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
            first["occupied"],
            moved,
        )

    def _slice(self, reset: Literal, last: Number, place: int) -> dict[str, list[Literal]]:
        """Return the next values of the registers when all bits of a result are one of a number.

        With them comes ``o``, what the output shows now. Each bit of a result is then treated
        alike, or this raises an error.
        """
        now, nets, ports = self._state, self._netlist.nets, self._netlist.ports
        known: dict[Bit, Literal] = {
            ports["in_valid"][0]: self._in_valid,
            ports["out_ready"][0]: self._out_ready,
            ports["rst"][0]: reset,
            **{
                nets[name][0]: flag
                for name, flag in zip(
                    _FLAGS, (now.is_valid, now.advance, now.turn, *now.full), strict=True
                )
            },
            **dict(zip(nets["occupied"], now.occupied, strict=True)),
            **dict.fromkeys(nets["result_0"], now.results[0][place]),
            **dict.fromkeys(nets["result_1"], now.results[1][place]),
            **dict.fromkeys(ports["i"], last[place]),
        }
        pipeline = Pipeline(self._aig, self._netlist, known)
        after = {
            name: [self._after(pipeline, bit) for bit in nets[name]]
            for name in (*_FLAGS, *_RESULTS, "occupied")
        }
        after["o"] = pipeline.literals(ports["o"])
        for name in (*_RESULTS, "o"):
            if len(set(after[name])) > 1:
                raise PipelineError(f"Bits of {name!r} in block 'control' are not treated alike")
        return after

    def _after(self, pipeline: Pipeline, bit: Bit) -> Literal:
        register = self._netlist.registers.get(bit)
        if register is None:
            raise PipelineError(f"{self._netlist.describe(bit)} is no register")
        enable = pipeline.literal(register.enable) ^ (not register.enable_level)
        return self._aig.choose(enable, pipeline.literal(register.d), pipeline.literal(bit))

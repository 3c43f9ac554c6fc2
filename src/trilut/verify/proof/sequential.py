"""Proof of a circuit with state: one step is right, and steps follow one another.

By the handshake, every vector is in the stage of the loop once, and in order. The block ``state``
is shown to take what a step has made whenever a vector leaves that stage, the resets behind the
last vector of a sequence and at a reset of the design, and to hold at all other times. Then its
registers can be cut: for every input, and for all states in a set of values, outputs and next
states are what the core says. The resets are in that set, and next states are in it again. So by
induction over the steps, for ever.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.kinds import Kind
from trilut.circuit.sequential import SequentialNetlist
from trilut.verify.proof import specification
from trilut.verify.proof.aig import FALSE, TRUE, Aig, Literal, Words
from trilut.verify.proof.claim import Claim, Finding
from trilut.verify.proof.design import Bit, PipelineError, UnclearError
from trilut.verify.proof.fabric import NUM_WORDS
from trilut.verify.proof.inputs import Inputs, read_bits
from trilut.verify.proof.machine import Step
from trilut.verify.proof.pipeline import Pipeline
from trilut.verify.proof.replay import result_of
from trilut.verify.proof.specification import Net, Trit
from trilut.verify.proof.stream import advance_bit
from trilut.verify.proof.subject import STATE, Subject
from trilut.verify.proof.sweep import Sweeper
from trilut.verify.proof.witness import Witness

__all__ = ["Loop", "build_loop", "prove_state", "prove_step"]

# How long sequences are in which a design that could not be proven is looked for to be wrong.
_NUM_STEPS = 200


@dataclass(frozen=True, slots=True)
class _State:
    """A state as logic that takes the values of a set, and no others.

    Parameters
    ----------
    trit : Trit
        Its planes.
    inputs : mapping
        The inputs of the graph that it is made of, and which plane each is.
    """

    trit: Trit
    inputs: Mapping[Literal, int]

    @classmethod
    def of_values(cls, aig: Aig, values: Sequence[bool]) -> "_State":
        """Return a state that can be −1, 0 and +1 as far as is said."""
        match tuple(values):
            case (True, True, True):
                a, b = aig.inputs(2)
                return cls((aig.both(a, b ^ 1), aig.both(b, a ^ 1)), {a: 0, b: 1})
            case (True, False, True):
                a = aig.input()
                return cls((a ^ 1, a), {a: 1})
            case (True, True, False):
                a = aig.input()
                return cls((a, FALSE), {a: 0})
            case (False, True, True):
                a = aig.input()
                return cls((FALSE, a), {a: 1})
        return cls((TRUE if values[0] else FALSE, TRUE if values[2] else FALSE), {})

    @classmethod
    def of_circuit(cls, aig: Aig, circuit: SequentialNetlist) -> "list[_State]":
        """Return the states of a circuit with the values that they can take."""
        return [cls.of_values(aig, values) for values in circuit.state_values().tolist()]


def _circuit(subject: Subject) -> SequentialNetlist:
    assert isinstance(subject.circuit, SequentialNetlist)
    return subject.circuit


def _wires(subject: Subject, trits: Sequence[Net]) -> list[Literal]:
    """Return the wires of states."""
    counts = _num_wires(subject)
    return [plane for trit, count in zip(trits, counts, strict=True) for plane in trit[-count:]]


def _num_wires(subject: Subject) -> list[int]:
    """Return how many wires each state has: a trit two, and a bit one or two."""
    circuit = _circuit(subject)
    if not circuit.num_states or len(subject.pins(STATE, "o")) == 2 * circuit.num_states:
        return [2] * circuit.num_states
    kinds = circuit.core.kinds[circuit.num_inputs : circuit.core.num_inputs].tolist()
    return [2 if kind == Kind.TRIT else 1 for kind in kinds]


def _loop_stage(subject: Subject) -> int:
    """Return how many registers lie before the loop: all but those of the results."""
    return subject.latency - 1


def prove_state(subject: Subject) -> Claim:
    """Prove when the states change, and to what.

    Raises
    ------
    PipelineError
        If that is not so.
    """
    circuit, block = _circuit(subject), subject.block(STATE)
    subject.check_wires(STATE, {"rst": "rst"})
    if list(subject.pins(STATE, "advance")) != [advance_bit(subject)]:
        raise PipelineError("Block 'state' does not move with the stages")
    _check_present(subject)
    aig = Aig()
    registers = {bit: aig.input() for bit in block.registers}
    advance, present, last, reset = aig.inputs(4)
    entering = _wires(subject, [state.trit for state in _State.of_circuit(aig, circuit)])
    known: dict[Bit, Literal] = {**registers, **dict(zip(block.ports["i"], entering, strict=True))}
    flags = {"advance": advance, "present": present, "last": last, "rst": reset}
    known |= {block.ports[port][0]: literal for port, literal in flags.items()}
    step = Step(aig, block, known)
    now = [step.now(bit) for bit in block.ports["o"]]
    others = set(known.values()) - set(registers.values())
    if not {literal >> 1 for literal in others}.isdisjoint(aig.cone(now)):
        raise PipelineError("Block 'state' shows more than its registers")
    after = aig.substitute(now, {own >> 1: step.after(bit) for bit, own in registers.items()})
    resets = _resets(subject)
    moves = aig.both(advance, present)
    clears = aig.either(reset, aig.both(moves, last))
    sweeper = Sweeper(aig)
    for wire, (old, new, value, first) in enumerate(zip(now, after, entering, resets, strict=True)):
        expected = aig.choose(clears, first, aig.choose(moves, value, old))
        if sweeper.example([aig.differ(new, expected)]) is not None:
            raise PipelineError(f"Wire {wire} of the states does not take what it should")
    _check_start(subject, aig, now, registers, resets)
    text = (
        f"{circuit.num_states} states in {len(registers)} registers take what a step makes when "
        "its vector leaves the loop, and their resets at first, behind the last vector of a "
        "sequence and at a reset"
    )
    return Claim("state", Finding.PROVEN, text)


def _resets(subject: Subject) -> list[Literal]:
    """Return what the wires of the states are at the first step of a sequence."""
    resets = _circuit(subject).resets.tolist()
    return _wires(subject, [(int(reset == -1), int(reset == 1)) for reset in resets])


def _check_present(subject: Subject) -> None:
    """Check that the states are told whether the stage of the loop holds a vector."""
    (present,) = subject.pins(STATE, "present")
    control = subject.block("control")
    stage = control.nets["occupied"][_loop_stage(subject) - 1]
    ports = [
        port
        for port, bits in control.ports.items()
        if control.directions[port] == "output" and stage in bits
    ]
    places = {port: list(control.ports[port]).index(stage) for port in ports}
    if present not in [subject.pins("control", port)[place] for port, place in places.items()]:
        raise PipelineError("Block 'state' is not told whether its stage holds a vector")


def _check_start(
    subject: Subject,
    aig: Aig,
    now: Sequence[Literal],
    registers: Mapping[Bit, Literal],
    resets: Sequence[Literal],
) -> None:
    """Check what the states are at first; if nothing else starts without a reset, that is free."""
    control, initial = subject.block("control"), subject.block(STATE).initial
    if not any(bit in control.initial for bit in control.registers):
        return
    values = {own >> 1: int(initial[bit]) for bit, own in registers.items() if bit in initial}
    if aig.substitute(now, values) != list(resets):
        raise PipelineError("The states may not be the resets at first")


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A step of a circuit and of its design, in one graph.

    Parameters
    ----------
    aig : Aig
        The graph.
    inputs : Inputs
        One vector.
    states : sequence
        The states before the step.
    expected, results : sequence of Literal
        The outputs, and what the design shows.
    expected_next, made : sequence of Literal
        The wires of the states after the step, and what the design makes of them.
    next_trits : sequence of Trit
        The states after the step.
    """

    aig: Aig
    inputs: Inputs
    states: Sequence[_State]
    expected: Sequence[Literal]
    results: Sequence[Literal]
    next_trits: Sequence[Net]
    expected_next: Sequence[Literal]
    made: Sequence[Literal]

    def pairs(self) -> Iterator[tuple[str, Literal, Literal]]:
        """Give what must be equal: what it is, what the circuit says, and what the design does."""
        for place, (want, got) in enumerate(zip(self.expected, self.results, strict=True)):
            yield f"Output {place // 2}", want, got
        for wire, (want, got) in enumerate(zip(self.expected_next, self.made, strict=True)):
            yield f"Wire {wire} of the next states", want, got


def build_loop(subject: Subject) -> Loop:
    """Build a step of a circuit and of its design.

    Raises
    ------
    PipelineError
        If the design is no pipeline with a loop in its last stage.
    """
    circuit, main, aig = _circuit(subject), subject.main, Aig()
    if np.any(circuit.core.kinds[circuit.core.outputs] == Kind.SCORE):
        raise UnclearError("An output of the circuit is a score")
    inputs = Inputs(aig, circuit, always_present=subject.always_present)
    last = aig.input()
    states = _State.of_circuit(aig, circuit)
    trits = [state.trit for state in states]
    nets = specification.gates(aig, circuit.core, [*inputs.trits, *trits])
    made = [nets[net] for net in circuit.core.outputs.tolist()]
    outputs, nexts = made[: circuit.num_outputs], made[circuit.num_outputs :]
    known: dict[Bit, Literal] = {
        bit: literal
        for port, literals in {**inputs.ports, "in_last": [last]}.items()
        for bit, literal in zip(subject.vector[port], literals, strict=True)
    }
    known[advance_bit(subject)] = TRUE
    stage = _loop_stage(subject)
    later: dict[Bit, tuple[Literal, int]] = {}
    if circuit.num_states:
        shown = zip(subject.pins(STATE, "o"), _wires(subject, trits), strict=True)
        later = {bit: (literal, stage) for bit, literal in shown}
    pipeline = Pipeline(aig, main, known, later=later)
    entering = list(subject.pins("control", "i"))
    taken = list(subject.pins(STATE, "i")) if circuit.num_states else []
    _check_depths(pipeline, [*entering, *taken], stage)
    if circuit.num_states:
        (end,) = subject.pins(STATE, "last")
        if pipeline.literal(end) != last or pipeline.depth(end) != stage:
            raise PipelineError("Block 'state' is not told which vector is the last one")
    after = dict(zip(subject.pins("control", "o"), pipeline.literals(entering), strict=True))
    return Loop(
        aig,
        inputs,
        states,
        [plane for trit in outputs for plane in trit],
        Pipeline(aig, main, after).literals(subject.results["out_trits"]),
        nexts,
        _wires(subject, nexts),
        pipeline.literals(taken),
    )


def _check_depths(pipeline: Pipeline, bits: Sequence[Bit], stage: int) -> None:
    """Check that all of a vector has passed the same registers when it enters the loop."""
    for bit in bits:
        passed = pipeline.depth(bit)
        if passed > stage or (passed < stage and not pipeline.is_constant(bit)):
            raise PipelineError(
                f"A vector passes {passed} registers before the loop, but the latency is "
                f"{stage + 1}"
            )


def prove_step(subject: Subject, loop: Loop) -> Claim:
    """Prove the outputs and the next states of a step, for all inputs and a set of states."""
    circuit, sweeper = _circuit(subject), Sweeper(loop.aig)
    patterns = loop.inputs.patterns(loop.aig, NUM_WORDS)
    sweeper.sweep(range(1, len(loop.aig)), (), patterns)
    for what, want, got in loop.pairs():
        if sweeper.difference(want, got) is not None:
            witness = _search(subject, loop)
            if witness is not None:
                return Claim("step", Finding.REFUTED, f"{what} of a step is wrong", witness)
            text = f"{what} is wrong for states that may never occur together"
            return Claim("step", Finding.OPEN, text)
    values = circuit.state_values()
    has_reset = values[np.arange(circuit.num_states), circuit.resets + 1].tolist()
    leaves = [state for state, has in enumerate(has_reset) if not has]
    leaves += [each for each, at in _outside(loop, values) if sweeper.example([at]) is not None]
    for state in leaves:
        text = f"State {state} may leave the values that it is taken to have"
        return Claim("step", Finding.OPEN, text)
    sizes = values.sum(axis=1).tolist()
    text = (
        f"outputs and next states equal the tables of {circuit.num_gates} gates for every input "
        f"and all states, of which {sizes.count(2)} have two values and stay with them "
        f"({sweeper.num_merged} equal nodes, {sweeper.num_questions} questions)"
    )
    return Claim("step", Finding.PROVEN, text)


def _outside(loop: Loop, values: NDArray[np.bool_]) -> Iterator[tuple[int, Literal]]:
    """Give, for each state, that its next value is none that it is taken to have."""
    for state, (trit, can_be) in enumerate(zip(loop.next_trits, values.tolist(), strict=True)):
        for literal, is_value in zip(specification.cases(loop.aig, trit), can_be, strict=True):
            if not is_value:
                yield state, literal


def _search(subject: Subject, loop: Loop) -> Witness | None:
    """Look for a sequence in which a design that could not be proven is wrong.

    Both go on from the resets, each with its own states, until the design has states that the
    circuit cannot have; from there on nothing is said.
    """
    circuit, aig = _circuit(subject), loop.aig
    rng = np.random.default_rng(0)
    resets = np.array([[reset == -1, reset == 1] for reset in circuit.resets.tolist()])
    start = np.where(resets[:, :, None], ~np.uint64(0), np.uint64(0))
    start = np.broadcast_to(start, (*resets.shape, NUM_WORDS))
    right = wrong = start
    trusted = np.full(NUM_WORDS, ~np.uint64(0))
    held = {literal for state in loop.states for literal in state.inputs}
    patterns = loop.inputs.patterns(aig, NUM_WORDS)
    vector = {literal: words for literal, words in patterns.items() if literal not in held}
    for step in range(_NUM_STEPS):
        vector = {each: _varied(words, rng) for each, words in vector.items()}
        ours = aig.simulate({**vector, **_held(loop, right)})
        theirs = aig.simulate({**vector, **_held(loop, wrong)})
        differs = np.zeros(NUM_WORDS, dtype=np.uint64)
        for want, got in zip(loop.expected, loop.results, strict=True):
            differs |= _read(ours, want) ^ _read(theirs, got)
        for word in np.flatnonzero(differs & trusted):
            lowest = f"{int(differs[word] & trusted[word]):064b}"[::-1].index("1")
            return _witness(loop, ours, theirs, step, 64 * int(word) + lowest)
        right = _next(ours, loop.next_trits)
        wrong, is_legal = _taken(subject, loop, theirs)
        trusted &= is_legal
    return None


def _varied(words: Words, rng: np.random.Generator) -> Words:
    """Return other words: in the first sequences any, and in the last few bits changed."""
    chance = rng.integers(0, 1 << 64, (5, len(words)), dtype=np.uint64)
    changes = np.bitwise_and.reduce(chance[1:], axis=0)
    changes[: len(words) // 2] = ~np.uint64(0)
    return (words & ~changes) | (chance[0] & changes)


def _held(loop: Loop, states: NDArray[np.uint64]) -> dict[Literal, Words]:
    """Return the inputs of the graph that make states [state, plane, word]."""
    return {
        literal: planes[plane]
        for state, planes in zip(loop.states, states, strict=True)
        for literal, plane in state.inputs.items()
    }


def _read(values: Words, literal: Literal) -> Words:
    return ~values[literal >> 1] if literal & 1 else values[literal >> 1]


def _next(values: Words, trits: Sequence[Net]) -> NDArray[np.uint64]:
    planes = [[_read(values, plane) for plane in trit] for trit in trits]
    return np.array(planes, dtype=np.uint64).reshape(len(planes), 2, NUM_WORDS)


def _taken(
    subject: Subject, loop: Loop, values: Words
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the states that the design makes, and for which sequences the circuit has such."""
    wires = iter(loop.made)
    legal = np.full(NUM_WORDS, ~np.uint64(0))
    states = []
    for count, can_be in zip(
        _num_wires(subject), _circuit(subject).state_values().tolist(), strict=True
    ):
        planes = [_read(values, next(wires)) for _ in range(count)]
        minus, plus = (~planes[0], *planes) if count == 1 else planes
        states.append((minus, plus))
        legal &= ~(minus & plus)
        for is_value, is_there in zip((minus, ~minus & ~plus, plus), can_be, strict=True):
            legal &= ~np.uint64(0) if is_there else ~is_value
    return np.array(states, dtype=np.uint64).reshape(-1, 2, NUM_WORDS), legal


def _witness(loop: Loop, ours: Words, theirs: Words, step: int, pattern: int) -> Witness:
    named = loop.inputs.named(loop.inputs.vector(ours, pattern))
    return Witness(
        {"step": step, **named},
        result_of({"out_trits": read_bits(ours, loop.expected, pattern)}),
        result_of({"out_trits": read_bits(theirs, loop.results, pattern)}),
    )

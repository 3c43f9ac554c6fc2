"""A design by its ports alone: no name inside it is looked at.

What data cannot reach is the control of a design, and all states that it can be in are walked
through, from reset on. On the way every register that data do reach is followed: of which vector is
what it holds? So it is known in each state which vector the result ports show. What a register
computes of a vector is then one function, and the results are compared with what the netlist says.

The walk knows three values: what a reset leaves open is open, and a handshake that depends on it is
not proven.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trilut.verify.proof.aig import FALSE, TRUE, Aig, Literal
from trilut.verify.proof.design import Bit, PipelineError, UnclearError
from trilut.verify.proof.inputs import Inputs
from trilut.verify.proof.pipeline import Pipeline
from trilut.verify.proof.subject import Subject
from trilut.verify.proof.sweep import Sweeper
from trilut.verify.proof.ternary import OPEN, Ternary, Values

__all__ = ["Automaton", "Walk", "read_automaton", "vector_functions", "walk_states"]

# A pipeline of n stages has some 6 · 2^n states.
_MAX_STATES = 400_000
# Ways in which data move; a pipeline that moves as a whole has a few.
_MAX_MOVES = 256
# Vectors inside a design; they are counted in a byte.
_MAX_VECTORS = 100
# Of a register that holds nothing, or not of one vector alone.
_NOTHING = -1
# Cycles in which something should happen, besides two for each of the latency.
_PATIENCE = 64

Step = Callable[[Values], Values]
"""Gives the states that may follow some states."""


@dataclass(frozen=True, slots=True, eq=False)
class Automaton:
    """A design as logic of one cycle.

    Parameters
    ----------
    aig : Aig
        The graph. What registers hold are inputs of it.
    inputs : Inputs
        A vector at the input ports.
    in_valid, out_ready : Literal
        What the outside decides.
    in_ready, out_valid : Literal
        What the design answers.
    registers, following, after_reset : mapping
        What each register holds, and one cycle later, without and with a reset.
    initial : mapping
        What registers hold at first, where that is said.
    results : mapping
        The result ports.
    """

    aig: Aig
    inputs: Inputs
    in_valid: Literal
    out_ready: Literal
    in_ready: Literal
    out_valid: Literal
    registers: Mapping[Bit, Literal]
    following: Mapping[Bit, Literal]
    after_reset: Mapping[Bit, Literal]
    initial: Mapping[Bit, str]
    results: Mapping[str, list[Literal]]


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """What a walk through all states has found.

    Parameters
    ----------
    num_states : int
        How many there are, of the control and of where the vectors are.
    num_control, num_data : int
        Number of registers that data cannot reach, and that they can.
    loads : mapping
        What each register of data takes of a vector, in different states.
    shown : sequence
        What the result ports show of the vector whose turn it is, in different states.
    """

    num_states: int
    num_control: int
    num_data: int
    loads: Mapping[Literal, Sequence[Literal]]
    shown: Sequence[Mapping[str, Sequence[Literal]]]


def read_automaton(subject: Subject) -> Automaton:
    """Return a design, flattened to one module, as logic of one cycle.

    Raises
    ------
    UnclearError
        If it has other ports than those of a plain stream.
    PipelineError
        If something depends on itself, or on what nothing drives.
    """
    if subject.interface.axi is not None or subject.interface.margin is not None:
        raise UnclearError("AXI4-Streams and a port for the margin are not looked at")
    aig, main = Aig(), subject.main
    inputs = Inputs(aig, subject.netlist, always_present=subject.always_present)
    in_valid, out_ready = aig.inputs(2)
    registers = {bit: aig.input() for bit in main.registers}
    ports = {**inputs.ports, "in_valid": [in_valid], "out_ready": [out_ready]}
    known: dict[Bit, Literal] = {**registers}
    for port, literals in ports.items():
        known |= dict(zip(main.ports[port], literals, strict=True))
    usual, reset = (
        Pipeline(aig, main, {**known, main.ports["rst"][0]: level}) for level in (FALSE, TRUE)
    )

    def following(pipeline: Pipeline) -> dict[Bit, Literal]:
        return {
            bit: aig.choose(
                pipeline.literal(register.enable) ^ (not register.enable_level),
                pipeline.literal(register.d),
                registers[bit],
            )
            for bit, register in main.registers.items()
        }

    return Automaton(
        aig,
        inputs,
        in_valid,
        out_ready,
        usual.literal(main.ports["in_ready"][0]),
        usual.literal(main.ports["out_valid"][0]),
        registers,
        following(usual),
        following(reset),
        main.initial,
        {port.name: usual.literals(main.ports[port.name]) for port in subject.interface.outputs},
    )


def walk_states(automaton: Automaton, latency: int) -> Walk:
    """Walk through all states of a design, and check its handshake.

    Raises
    ------
    UnclearError
        If there are too many states, or it is not clear of which vector a result is.
    PipelineError
        If the handshake is wrong.
    """
    if latency < 1:
        raise UnclearError("A stream without a register is not walked through")
    return _Walker(automaton, latency).walk()


@dataclass(frozen=True, slots=True, eq=False)
class _Move:
    """What happens to data in a cycle, for one value of what control says.

    Parameters
    ----------
    taken : list of Literal
        What each register of data takes.
    shown : list of Literal
        The bits of the result ports.
    sources : list of frozenset
        The nodes that each of them reads, first of the registers, then of the results; None among
        them stands for what is open.
    """

    taken: list[Literal]
    shown: list[Literal]
    sources: list[frozenset[int | None]]


class _Walker:
    def __init__(self, automaton: Automaton, latency: int):
        self._automaton = automaton
        self._latency = latency
        aig, registers = automaton.aig, automaton.registers
        ports = [literal for literals in automaton.inputs.ports.values() for literal in literals]
        self._vector = _leaves(aig, ports)
        reached = _reached(automaton, self._vector)
        self._control = [bit for bit in registers if bit not in reached]
        self._data = [registers[bit] for bit in reached]
        self._taken = [automaton.following[bit] for bit in reached]
        self._results = [bit for bits in automaton.results.values() for bit in bits]
        own = [registers[bit] for bit in self._control]
        outside = [automaton.in_valid, automaton.out_ready]
        self._check_handshake({literal >> 1 for literal in own}, {each >> 1 for each in outside})
        self._boundary = self._find_boundary({literal >> 1 for literal in (*own, *outside)})
        self._opens = aig.inputs(len(self._boundary))
        after = [automaton.following[bit] for bit in self._control]
        asked = [automaton.in_ready, automaton.out_valid, *after, *self._boundary]
        self._cycle = Ternary(aig, [*own, *outside], asked)
        self._reset = Ternary(aig, [], [automaton.after_reset[bit] for bit in self._control])
        self._moves: dict[bytes, _Move] = {}
        # The registers of data whose vectors are always the same form a class.
        self._class_of: dict[int, int] = {}
        self._num_classes = 0
        self._loads: dict[Literal, dict[Literal, None]] = {each: {} for each in self._data}
        self._shown: dict[tuple[Literal, ...], None] = {}

    def _check_handshake(self, own: set[int], outside: set[int]) -> None:
        automaton = self._automaton
        for port, literal in (("in_ready", automaton.in_ready), ("out_valid", automaton.out_valid)):
            if not _leaves(automaton.aig, [literal]) <= own | outside:
                raise UnclearError(f"Port {port!r} depends on data")
        if _leaves(automaton.aig, [automaton.out_valid]) & outside:
            raise UnclearError("Port 'out_valid' depends on 'in_valid' or 'out_ready' at once")

    def _find_boundary(self, own: set[int]) -> list[Literal]:
        """Return the logic of control alone that logic of data reads."""
        aig, roots = self._automaton.aig, [*self._taken, *self._results]
        pure: set[int] = set()
        boundary: dict[int, None] = {}
        for node in aig.cone(roots):
            fanins = aig.fanins[node]
            if (node in own) if fanins is None else all(each >> 1 in pure for each in fanins):
                pure.add(node)
            elif fanins is not None:
                boundary |= {each >> 1: None for each in fanins if each >> 1 in pure}
        boundary |= {root >> 1: None for root in roots if root >> 1 in pure}
        return [2 * node for node in boundary]

    def walk(self) -> Walk:
        """Walk through all states."""
        starts = self._starts()
        _closure(starts, self._control_step)
        self._find_classes()
        first = np.full((len(starts), len(self._control) + self._num_classes + 1), _NOTHING, "i1")
        first[:, : len(self._control)] = starts
        first[:, -1] = 0
        states = _closure(first, self._step)
        self._check_progress(states)
        self._check_latency(starts, states)
        return Walk(
            len(states),
            len(self._control),
            len(self._data),
            {register: list(loads) for register, loads in self._loads.items()},
            [self._ports(literals) for literals in self._shown],
        )

    def _ports(self, literals: Sequence[Literal]) -> dict[str, Sequence[Literal]]:
        remaining = iter(literals)
        return {
            name: [next(remaining) for _ in bits] for name, bits in self._automaton.results.items()
        }

    def _starts(self) -> Values:
        """Return the state after a reset, and the first one if initial values say what it is."""
        starts = [self._reset.evaluate(np.empty((1, 0), dtype=np.int8))[0]]
        initial = self._automaton.initial
        if any(bit in initial for bit in self._control):
            first = [int(initial[bit]) if bit in initial else OPEN for bit in self._control]
            starts.append(np.array(first, dtype=np.int8))
        return np.stack(starts)

    def _answers(
        self, states: Values, in_valid: int, out_ready: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Values, Values]:
        """Return in_ready, out_valid, the control one cycle later, and what it says to data."""
        count = len(self._control)
        outside = np.tile(np.array([in_valid, out_ready], dtype=np.int8), (len(states), 1))
        values = self._cycle.evaluate(np.hstack([states[:, :count], outside]))
        for place, port in enumerate(("in_ready", "out_valid")):
            if (values[:, place] == OPEN).any():
                raise UnclearError(f"Port {port!r} may be undefined, even after a reset")
        ready, valid = values[:, 0] == 1, values[:, 1] == 1
        return ready, valid, values[:, 2 : 2 + count], values[:, 2 + count :]

    def _control_step(self, states: Values) -> Values:
        """Return the control one cycle later, and look at how data move."""
        following = []
        for in_valid, out_ready in _OUTSIDE:
            _, _, after, said = self._answers(states, in_valid, out_ready)
            following.append(after)
            for row in np.unique(said, axis=0):
                self._move(row)
        return np.vstack(following)

    def _move(self, said: Values) -> _Move:
        key = said.tobytes()
        if key not in self._moves:
            if len(self._moves) >= _MAX_MOVES:
                raise UnclearError(f"Data move in more than {_MAX_MOVES} ways")
            self._moves[key] = self._make_move(said)
        return self._moves[key]

    def _make_move(self, said: Values) -> _Move:
        aig = self._automaton.aig
        leaves = {
            literal >> 1: opened if value == OPEN else int(value)
            for literal, opened, value in zip(self._boundary, self._opens, said, strict=True)
        }
        literals = aig.substitute([*self._taken, *self._results], leaves)
        known = {*self._vector, *(each >> 1 for each in self._data)}
        sources = [
            frozenset(node if node in known else None for node in support)
            for support in _supports(aig, literals)
        ]
        count = len(self._data)
        return _Move(literals[:count], literals[count:], sources)

    def _find_classes(self) -> None:
        """Put registers together that take from the same classes in every move."""
        classes = dict.fromkeys((each >> 1 for each in self._data), 0)
        while True:
            signatures: dict[tuple[object, ...], int] = {}
            refined = {}
            for place, register in enumerate(self._data):
                signature: tuple[object, ...] = (
                    classes[register >> 1],
                    *(
                        move.taken[place] == register
                        or frozenset(self._class(node, classes) for node in move.sources[place])
                        for move in self._moves.values()
                    ),
                )
                refined[register >> 1] = signatures.setdefault(signature, len(signatures))
            if len(signatures) == len(set(classes.values())) or not refined:
                break
            classes = refined
        self._class_of = refined
        self._num_classes = len(set(refined.values()))

    def _class(self, node: int | None, classes: Mapping[int, int]) -> int:
        """Return the class of a register; the vector that enters is one more, what is open two."""
        if node is None:
            return -2
        return classes.get(node, -1)

    def _step(self, states: Values) -> Values:
        """Return the states one cycle later, with the vectors in them, and check the results."""
        return np.vstack([self._moved(states, *outside) for outside in _OUTSIDE])

    def _moved(self, states: Values, in_valid: int, out_ready: int) -> Values:
        ready, valid, after, said = self._answers(states, in_valid, out_ready)
        held, count = states[:, len(self._control) : -1], states[:, -1]
        if (valid & (count == 0)).any():
            raise PipelineError("A result comes out for which no vector has gone in")
        entering = ready & bool(in_valid)
        # The classes of data, the vector at the input, and what is open: as indices -1 and -2 say.
        vectors = np.hstack(
            [
                held,
                np.full((len(states), 1), _NOTHING, dtype=np.int8),
                np.where(entering, count, _NOTHING).astype(np.int8)[:, None],
            ]
        )
        later = np.full_like(held, _NOTHING)
        rows, which = np.unique(said, axis=0, return_inverse=True)
        for index, row in enumerate(rows):
            here = np.flatnonzero(which.ravel() == index)
            later[here] = self._apply(self._move(row), vectors[here], valid[here])
        leaving = valid & bool(out_ready)
        number = count + entering - leaving
        if (number > _MAX_VECTORS).any():
            raise UnclearError("More vectors go in than come out")
        later = np.where(leaving[:, None], np.maximum(later - 1, _NOTHING), later)
        self._check_waiting(after[valid & ~leaving])
        return np.hstack([after, later, number[:, None]]).astype(np.int8)

    def _apply(self, move: _Move, vectors: Values, valid: NDArray[np.bool_]) -> Values:
        """Return which vectors the classes hold after a move, and note what it does."""
        later = np.full((len(vectors), self._num_classes), _NOTHING, dtype=np.int8)
        done: set[int] = set()
        for place, register in enumerate(self._data):
            own = self._class_of[register >> 1]
            if own not in done:
                done.add(own)
                if move.taken[place] == register:
                    later[:, own] = vectors[:, own]
                else:
                    later[:, own] = self._common(move.sources[place], vectors)
        loaded = {own for own in done if (later[:, own] != _NOTHING).any()}
        for register, taken in zip(self._data, move.taken, strict=True):
            if taken != register and self._class_of[register >> 1] in loaded:
                self._loads[register][taken] = None
        if valid.any():
            sources = frozenset[int | None]().union(*move.sources[len(self._data) :])
            if sources and (self._common(sources, vectors)[valid] != 0).any():
                raise UnclearError("A result may be of another vector than the next one")
            self._shown[tuple(move.shown)] = None
        return later

    def _common(self, sources: frozenset[int | None], vectors: Values) -> Values:
        """Return the vector that all sources are of; nothing if they are not, or there are none."""
        classes = sorted({self._class(node, self._class_of) for node in sources})
        if not classes:
            return np.full(len(vectors), _NOTHING, dtype=np.int8)
        columns = vectors[:, classes]
        same = (columns == columns[:, :1]).all(axis=1)
        return np.where(same, columns[:, 0], _NOTHING).astype(np.int8)

    def _check_waiting(self, control: Values) -> None:
        """Check that a result is still there one cycle after it was not taken."""
        if len(control):
            _, valid, _, _ = self._answers(control, 0, 0)
            if not valid.all():
                raise PipelineError("A result vanishes while it waits")

    def _check_progress(self, states: Values) -> None:
        """Check that vectors go on in and out if results are taken, and results show if not."""
        self._check_ends(states, 1, "The input stays stopped", lambda ready, valid, count: ~ready)
        self._check_ends(
            states, 1, "A vector stays inside", lambda ready, valid, count: ~valid & (count > 0)
        )
        self._check_ends(
            states,
            0,
            "A result does not show before it is taken",
            lambda ready, valid, count: ~valid & (~ready | (count > 0)),
        )

    def _check_ends(
        self,
        states: Values,
        out_ready: int,
        objection: str,
        stuck: Callable[[NDArray[np.bool_], NDArray[np.bool_], Values], NDArray[np.bool_]],
    ) -> None:
        """Check that no state that is stuck leads to another for long."""
        for _ in range(2 * self._latency + _PATIENCE):
            following = []
            for in_valid in (0, 1):
                ready, valid, _, _ = self._answers(states, in_valid, out_ready)
                kept = states[stuck(ready, valid, states[:, -1])]
                if len(kept):
                    following.append(self._moved(kept, in_valid, out_ready))
            if not following:
                return
            states = np.unique(np.vstack(following), axis=0)
        raise PipelineError(objection)

    def _check_latency(self, starts: Values, states: Values) -> None:
        """Check when results come if nothing waits, at first and after all pauses."""
        empty = np.unique(states[states[:, -1] == 0][:, : len(self._control)], axis=0)
        for _ in range(self._latency + 4):
            empty = np.unique(self._answers(empty, 0, 1)[2], axis=0)
        empty = np.vstack([starts, empty])
        first = np.hstack([empty, np.zeros((len(empty), self._latency), dtype=np.int8)])
        _closure(first, self._timed_step)

    def _timed_step(self, states: Values) -> Values:
        """Return the control one cycle later, and when vectors have gone in."""
        following = []
        ages = states[:, len(self._control) :]
        for in_valid in (0, 1):
            ready, valid, after, _ = self._answers(states, in_valid, 1)
            if not ready.all():
                raise PipelineError("The input stops though every result is taken at once")
            if (valid != (ages[:, -1] == 1)).any():
                raise PipelineError(f"A vector does not take {self._latency} cycles")
            entered = np.full((len(states), 1), in_valid, dtype=np.int8)
            following.append(np.hstack([after, entered, ages[:, :-1]]))
        return np.vstack(following)


_OUTSIDE = ((0, 0), (0, 1), (1, 0), (1, 1))


def _closure(first: Values, step: Step) -> Values:
    """Return all states that follow from some, with them.

    Raises
    ------
    UnclearError
        If there are too many.
    """
    seen: set[bytes] = set()
    found = []
    states = np.unique(first, axis=0)
    while len(states):
        fresh = []
        for place, row in enumerate(states):
            key = row.tobytes()
            if key not in seen:
                seen.add(key)
                fresh.append(place)
        if len(seen) > _MAX_STATES:
            raise UnclearError(f"The control has more than {_MAX_STATES:,} states")
        if not fresh:
            break
        found.append(states[fresh])
        states = np.unique(step(states[fresh]), axis=0)
    return np.vstack(found)


def _leaves(aig: Aig, literals: Sequence[Literal]) -> set[int]:
    return {node for node in aig.cone(literals) if aig.fanins[node] is None}


def _reached(automaton: Automaton, sources: set[int]) -> list[Bit]:
    """Return the registers that data can reach, given the nodes of data."""
    supports = dict(
        zip(
            automaton.following,
            _supports(automaton.aig, list(automaton.following.values())),
            strict=True,
        )
    )
    reached: dict[Bit, None] = {}
    nodes = set(sources)
    while True:
        more = [bit for bit, each in supports.items() if bit not in reached and each & nodes]
        if not more:
            return list(reached)
        reached |= dict.fromkeys(more)
        nodes |= {automaton.registers[bit] >> 1 for bit in more}


def _supports(aig: Aig, literals: Sequence[Literal]) -> list[set[int]]:
    """Return the inputs of the graph that each literal reads."""
    supports: dict[int, frozenset[int]] = {0: frozenset()}
    for node in aig.cone(literals):
        fanins = aig.fanins[node]
        if fanins is None:
            supports[node] = frozenset({node})
        else:
            left, right = (supports[each >> 1] for each in fanins)
            supports[node] = left if right <= left else left | right
    return [set(supports[literal >> 1]) for literal in literals]


def vector_functions(automaton: Automaton, walk: Walk) -> list[dict[str, list[Literal]]]:
    """Return what the result ports show, in different states, as functions of a vector.

    Raises
    ------
    UnclearError
        If a register holds different functions of a vector, or one of itself.
    """
    aig = automaton.aig
    functions: dict[int, Literal] = {}
    twins: list[tuple[Literal, Literal]] = []
    pending = [each for ports in walk.shown for bits in ports.values() for each in bits]
    stack = [(node, False) for node in _register_nodes(aig, pending, walk)]
    open_nodes: set[int] = set()
    while stack:
        node, is_ready = stack.pop()
        if node in functions:
            continue
        loads = walk.loads[2 * node]
        if is_ready:
            own = aig.substitute(loads, functions)
            functions[node] = own[0]
            twins += [(own[0], other) for other in own[1:] if other != own[0]]
            continue
        if node in open_nodes or not loads:
            raise UnclearError("A register holds more than a function of one vector")
        open_nodes.add(node)
        stack.append((node, True))
        stack += [(each, False) for each in _register_nodes(aig, loads, walk)]
    sweeper = Sweeper(aig)
    for one, other in twins:
        if sweeper.difference(one, other) is not None:
            raise UnclearError("A register holds different functions of a vector")
    return [
        {port: aig.substitute(bits, functions) for port, bits in ports.items()}
        for ports in walk.shown
    ]


def _register_nodes(aig: Aig, literals: Sequence[Literal], walk: Walk) -> list[int]:
    """Return the registers of data that some literals read."""
    return [node for node in _leaves(aig, literals) if 2 * node in walk.loads]

"""A circuit with state that is built gate by gate.

A *signal* is a truth value at every step. Constants are folded, and no gate is made twice.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NewType

import numpy as np

from trilut.circuit.encoder import Encoder
from trilut.circuit.netlist import Netlist
from trilut.circuit.sequential import SequentialNetlist
from trilut.errors import FormulaError
from trilut.temporal.counter import counter

__all__ = ["FALSE", "TRUE", "UNKNOWN", "Builder", "Signal"]

Signal = NewType("Signal", int)

# Constants stand below all other signals, in the order of their values.
FALSE, UNKNOWN, TRUE = Signal(-3), Signal(-2), Signal(-1)
_CONSTANTS = {-1: FALSE, 0: UNKNOWN, 1: TRUE}
_VALUES = {signal: value for value, signal in _CONSTANTS.items()}

_TRITS = (-1, 0, 1)
_MOST_STATES = 1 << 16

_Table = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Gate:
    table: _Table
    a: Signal
    b: Signal


@dataclass(slots=True)
class _State:
    reset: int
    next: Signal = UNKNOWN


@dataclass(slots=True)
class Builder:
    """Makes the gates and states of a circuit with some inputs."""

    num_inputs: int
    _num_states: int = 0
    _made: list[_Gate | _State] = field(default_factory=list)
    _known: dict[_Gate, Signal] = field(default_factory=dict)
    _delays: dict[tuple[Signal, Signal], Signal] = field(default_factory=dict)
    _started: dict[int, Signal] = field(default_factory=dict)

    def gate(self, function: Callable[[int, int], int], a: Signal, b: Signal) -> Signal:
        """Return a function of two signals."""
        table = tuple(function(x, y) for x in _values(a) for y in _values(b))
        if len(table) == 9 and a == b:
            table = table[::4]
        if len(set(table)) == 1:
            return _CONSTANTS[table[0]]
        if len(table) == 3:
            a = b = max(a, b)
            if table == _TRITS:
                return a
            table = tuple(value for value in table for _ in _TRITS)
        elif a > b:
            a, b = b, a
            table = tuple(table[3 * column + row] for row in range(3) for column in range(3))
        return self._once(_Gate(table, a, b))

    def _once(self, gate: _Gate) -> Signal:
        if gate not in self._known:
            self._known[gate] = self._add(gate)
        return self._known[gate]

    def _add(self, made: _Gate | _State) -> Signal:
        self._made.append(made)
        return Signal(self.num_inputs + len(self._made) - 1)

    def both(self, a: Signal, b: Signal) -> Signal:
        """Return Kleene's AND."""
        return self.gate(min, a, b)

    def either(self, a: Signal, b: Signal) -> Signal:
        """Return Kleene's OR."""
        return self.gate(max, a, b)

    def negated(self, a: Signal) -> Signal:
        """Return the negation."""
        return self.gate(lambda x, _: -x, a, a)

    def is_true(self, a: Signal) -> Signal:
        """Return whether a signal is TRUE; never UNKNOWN."""
        return self.gate(lambda x, _: 1 if x == 1 else -1, a, a)

    def is_possible(self, a: Signal) -> Signal:
        """Return whether a signal is not FALSE; never UNKNOWN."""
        return self.gate(lambda x, _: -1 if x == -1 else 1, a, a)

    def of_rails(self, is_true: Signal, is_possible: Signal) -> Signal:
        """Return the signal of which these two are known."""
        return self.gate(lambda x, y: (x + y) // 2, is_true, is_possible)

    def when(self, condition: Signal, a: Signal) -> Signal:
        """Return a signal where a condition is TRUE, and UNKNOWN elsewhere."""
        return self.gate(lambda x, y: y if x == 1 else 0, condition, a)

    def merged(self, a: Signal, b: Signal) -> Signal:
        """Return the first signal where it is known, and the second one elsewhere."""
        return self.gate(lambda x, y: x or y, a, b)

    def state(self, reset: Signal) -> Signal:
        """Return a new state; its next value is given by :meth:`remember`."""
        self._num_states += 1
        if self._num_states > _MOST_STATES:
            raise FormulaError(
                f"The formula needs more than {_MOST_STATES} states, expected a shorter window"
            )
        return self._add(_State(_VALUES[reset]))

    def remember(self, state: Signal, value: Signal) -> None:
        """Say what a state is in the next step."""
        made = self._made[state - self.num_inputs]
        assert isinstance(made, _State)
        made.next = value

    def delayed(self, a: Signal, steps: int, reset: Signal) -> Signal:
        """Return a signal some steps later; the reset stands before its first value."""
        for _ in range(steps):
            if a == reset:
                return a
            if (a, reset) not in self._delays:
                state = self._delays[a, reset] = self.state(reset)
                self.remember(state, a)
            a = self._delays[a, reset]
        return a

    def started(self, steps: int, most_registers: int) -> Signal:
        """Return whether there have been that many steps before this one; never UNKNOWN."""
        if steps == 0:
            return TRUE
        if steps not in self._started:
            near = [each for each in self._started if 0 <= steps - each <= most_registers]
            if near or steps <= most_registers:
                last = max(near, default=0)
                made = self.delayed(self.started(last, most_registers), steps - last, FALSE)
            else:
                made = self.negated(self._timer(FALSE, steps, TRUE, starts=True))
            self._started[steps] = made
        return self._started[steps]

    def recently(self, event: Signal, steps: int, keep: Signal = TRUE) -> Signal:
        """Return whether an event was in one of the last steps and what is to be kept was since.

        Neither signal may be UNKNOWN. The present step counts: its event is enough, and an event
        ``steps`` before it is the oldest that is.
        """
        return self._timer(event, steps, keep)

    def _timer(self, event: Signal, steps: int, keep: Signal, *, starts: bool = False) -> Signal:
        """Return whether an event is, or a timer that it starts runs, for some steps after it.

        The timer is a flag that an event sets, and a counter that an event sets to its first number
        and that clears the flag at its last one. While the flag is not set, the counter may be
        anything.
        """
        first, last, taps = counter(steps)
        flag = self.state(TRUE if starts else FALSE)
        bits = [self.state(_digit(first, bit)) for bit in range(taps.bit_length() - 1)]
        for place, bit in enumerate(bits):
            value = bits[place - 1] if place else FALSE
            if taps >> place & 1:
                value = self.gate(lambda x, y: -1 if x == y else 1, value, bits[-1])
            is_set = first >> place & 1
            value = self.either(event, value) if is_set else self.both(self.negated(event), value)
            self.remember(bit, value)
        goes_on = self.both(flag, keep)
        digits = [bit if last >> place & 1 else self.negated(bit) for place, bit in enumerate(bits)]
        is_last = self._all(digits)
        self.remember(flag, self.either(event, self.both(goes_on, self.negated(is_last))))
        return self.either(event, goes_on)

    def _all(self, signals: list[Signal]) -> Signal:
        """Return Kleene's AND of some signals, as a tree."""
        while len(signals) > 1:
            pairs = zip_longest(signals[::2], signals[1::2], fillvalue=TRUE)
            signals = [self.both(*pair) for pair in pairs]
        return signals[0]

    def finish(
        self, outputs: list[Signal], encoder: Encoder, name: str, provenance: dict[str, object]
    ) -> SequentialNetlist:
        """Return the circuit of some outputs, without what they do not need."""
        needed = self._needed(outputs)
        states = [signal for signal in needed if isinstance(self._entry(signal), _State)]
        gates = [signal for signal in needed if isinstance(self._entry(signal), _Gate)]
        first = self.num_inputs + len(states)
        nets = {Signal(index): index for index in range(self.num_inputs)}
        nets.update({state: self.num_inputs + index for index, state in enumerate(states)})
        nets.update({gate: first + index for index, gate in enumerate(gates)})
        made = [self._entry(gate) for gate in gates]
        nexts = [entry.next for entry in map(self._entry, states) if isinstance(entry, _State)]
        read = [
            (each.table, nets[each.a], nets[each.b]) for each in made if isinstance(each, _Gate)
        ]
        # A constant is a gate that does not look at what it reads.
        for constant in (FALSE, UNKNOWN, TRUE):
            if constant in [*outputs, *nexts]:
                nets[constant] = first + len(read)
                read.append(((_VALUES[constant],) * 9, 0, 0))
        core = Netlist.of_gates(
            first,
            np.array([table for table, _, _ in read], dtype=np.int8).reshape(-1, 9),
            [a for _, a, _ in read],
            [b for _, _, b in read],
            [nets[signal] for signal in [*outputs, *nexts]],
        )
        resets = [entry.reset for entry in map(self._entry, states) if isinstance(entry, _State)]
        return SequentialNetlist(core, np.array(resets, dtype=np.int8), encoder, name, provenance)

    def _entry(self, signal: Signal) -> _Gate | _State | None:
        return self._made[signal - self.num_inputs] if signal >= self.num_inputs else None

    def _needed(self, outputs: list[Signal]) -> list[Signal]:
        found: set[Signal] = set()
        ahead = list(outputs)
        while ahead:
            signal = ahead.pop()
            entry = self._entry(signal)
            if signal in found or entry is None:
                continue
            found.add(signal)
            ahead += [entry.a, entry.b] if isinstance(entry, _Gate) else [entry.next]
        return sorted(found)


def _digit(number: int, place: int) -> Signal:
    return TRUE if number >> place & 1 else FALSE


def _values(signal: Signal) -> tuple[int, ...]:
    return (_VALUES[signal],) if signal in _VALUES else _TRITS

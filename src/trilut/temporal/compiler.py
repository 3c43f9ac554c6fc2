"""From a formula to a circuit that watches it.

Two kinds of circuits are made. A *delayed* monitor says at step t what the formula was at step
t − h, h being its horizon, from when on nothing can change the verdict. An *early* monitor says at
step t what is known by then of the formula at step 0; once it says TRUE or FALSE, it stays.

AND and OR of Kleene's logic are minimum and maximum, so all laws of a distributive lattice hold,
and every rewriting below is one of them: the circuit gives the very verdicts of
:mod:`trilut.temporal.meaning`. Windows of up to 16 steps are shift registers, longer ones a pair of
counters: what is made of AND and OR alone is, on each of the rails [TRUE] and [not FALSE], the same
function of bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from trilut.circuit.sequential import SequentialNetlist
from trilut.errors import FormulaError
from trilut.temporal.builder import FALSE, TRUE, UNKNOWN, Builder, Signal
from trilut.temporal.formula import (
    Atom,
    Constant,
    Formula,
    Future,
    Join,
    Joint,
    Not,
    Past,
    Window,
    horizon,
)
from trilut.temporal.signals import Atoms, SampledFeature, encode_atoms

__all__ = ["Mode", "Monitor", "compile_formula"]

_MOST_REGISTERS = 16
_MOST_PARTS = 1 << 12


class Mode(Enum):
    """What a monitor says."""

    DELAY = "delay"
    """At step t, the verdict about step t − horizon; UNKNOWN before there is such a step."""
    EARLY = "early"
    """At step t, what is known by then about step 0."""


@dataclass(frozen=True, slots=True, eq=False)
class Monitor:
    """A formula and the circuit that watches it.

    Parameters
    ----------
    formula : Formula
        The formula.
    atoms : Atoms
        What of its atoms is an input of the circuit.
    mode : Mode
        What the circuit says.
    horizon : int
        Steps from a sample to the verdict about it.
    netlist : SequentialNetlist
        The circuit; its output is the verdict.
    """

    formula: Formula
    atoms: Atoms
    mode: Mode
    horizon: int
    netlist: SequentialNetlist


def compile_formula(
    formula: Formula,
    features: Sequence[SampledFeature],
    mode: Mode = Mode.DELAY,
    *,
    name: str = "monitor",
) -> Monitor:
    """Compile a formula over features.

    Raises
    ------
    FormulaError
        If an atom names no feature, or the circuit would be too large.
    """
    atoms = encode_atoms(formula, features)
    compiler = _Compiler(Builder(atoms.encoder.num_trits), atoms)
    verdict = compiler.delayed(formula) if mode is Mode.DELAY else compiler.about_first(formula)
    provenance: dict[str, object] = {"formula": str(formula), "mode": mode.value}
    netlist = compiler.builder.finish([verdict], atoms.encoder, name, provenance)
    return Monitor(formula, atoms, mode, horizon(formula), netlist.optimized())


class _Compiler:
    def __init__(self, builder: Builder, atoms: Atoms) -> None:
        self.builder = builder
        self._atoms = atoms
        self._finals: dict[Formula, Signal] = {}
        self._partials: dict[tuple[Formula, int], Signal] = {}
        self._parts = 0

    def delayed(self, formula: Formula) -> Signal:
        """Return the verdict of a delayed monitor."""
        return self.builder.when(self._started(horizon(formula)), self.final(formula))

    def final(self, formula: Formula) -> Signal:
        """Return at step t the verdict about t − horizon; about steps below 0, anything."""
        if formula not in self._finals:
            self._finals[formula] = self._final(formula)
        return self._finals[formula]

    def _final(self, formula: Formula) -> Signal:
        build = self.builder
        match formula:
            case Atom():
                place, is_negated = self._atoms.inputs[formula]
                signal = Signal(place)
                return build.negated(signal) if is_negated else signal
            case Constant(is_true):
                return TRUE if is_true else FALSE
            case Not(child):
                return build.negated(self.final(child))
            case Join(joint, left, right):
                return self._joined(joint, *self._aligned(left, right))
            case Window(Past.HISTORICALLY | Future.ALWAYS):
                return build.negated(self.final(_dual(formula)))
            case Window(Past.ONCE, lower, upper, right):
                recent = self._window(self._existing(right), lower, upper)
                return build.delayed(recent, lower, FALSE)
            case Window(Future.EVENTUALLY, lower, upper, right):
                return self._window(self.final(right), lower, upper)
            case Window(Past.SINCE):
                return self._since(formula)
        return self._until(formula)

    def _aligned(self, *formulas: Formula | None) -> list[Signal]:
        """Return the verdicts of several formulas about one step."""
        given = [formula for formula in formulas if formula is not None]
        last = max(map(horizon, given))
        return [
            self.builder.delayed(self.final(each), last - horizon(each), UNKNOWN) for each in given
        ]

    def _existing(self, formula: Formula, delay: int = 0) -> Signal:
        """Return the verdict, FALSE about steps below 0."""
        final = self.builder.delayed(self.final(formula), delay, UNKNOWN)
        return self.builder.both(self._started(horizon(formula) + delay), final)

    def _started(self, steps: int) -> Signal:
        return self.builder.started(max(0, steps), _MOST_REGISTERS)

    def _joined(self, joint: Joint, left: Signal, right: Signal) -> Signal:
        if joint is Joint.AND:
            return self.builder.both(left, right)
        if joint is Joint.IMPLIES:
            left = self.builder.negated(left)
        return self.builder.either(left, right)

    def _window(self, signal: Signal, lower: int, upper: int | None) -> Signal:
        """Return the OR of a signal over as many steps as a window has, the present one the last.

        Nothing before the first step is TRUE.
        """
        build = self.builder
        if upper is None:
            return self._held(TRUE, signal)
        steps = upper - lower
        if steps > _MOST_REGISTERS:
            return build.of_rails(
                build.recently(build.is_true(signal), steps),
                build.recently(build.is_possible(signal), steps),
            )
        # Windows of twice the length, as long as that is not too much.
        length = 1
        while 2 * length <= steps + 1:
            signal = build.either(signal, build.delayed(signal, length, FALSE))
            length *= 2
        return build.either(signal, build.delayed(signal, steps + 1 - length, FALSE))

    def _held(self, left: Signal, right: Signal) -> Signal:
        """Return whether the right side was and the left side has been since."""
        build = self.builder
        state = build.state(FALSE)
        held = build.either(right, build.both(left, state))
        build.remember(state, held)
        return held

    def _since(self, formula: Window) -> Signal:
        assert formula.left is not None
        build = self.builder
        last = max(horizon(formula.left), horizon(formula.right))
        left = build.delayed(self.final(formula.left), last - horizon(formula.left), UNKNOWN)
        right = self._existing(formula.right, last - horizon(formula.right))
        if formula.upper is None:
            held = self._held(left, right)
        else:
            held = self._held_for(left, right, formula.upper - formula.lower)
        if formula.lower == 0:
            return held
        # All steps before the window's last one, then the same question that much earlier.
        recent = build.negated(self._window(build.negated(left), 0, formula.lower - 1))
        return build.both(recent, build.delayed(held, formula.lower, FALSE))

    def _held_for(self, left: Signal, right: Signal, steps: int) -> Signal:
        build = self.builder
        if steps > _MOST_REGISTERS:
            rails = (build.is_true, build.is_possible)
            return build.of_rails(
                *(build.recently(rail(right), steps, rail(left)) for rail in rails)
            )
        held = right
        for _ in range(steps):
            held = build.either(right, build.both(left, build.delayed(held, 1, FALSE)))
        return held

    def _until(self, formula: Window) -> Signal:
        assert formula.upper is not None
        build = self.builder
        left, right = self._aligned(formula.left, formula.right)
        steps = formula.upper - formula.lower
        # A pair for each step of the window: whether it holds by now, and whether it still may.
        holds, may = right, left
        for step in range(steps):
            open_before = build.delayed(may, 1, UNKNOWN)
            holds = build.either(build.delayed(holds, 1, UNKNOWN), build.both(open_before, right))
            if step + 1 < steps:
                may = build.both(open_before, left)
        if formula.lower == 0:
            return holds
        before = build.negated(self._window(build.negated(left), 0, formula.lower - 1))
        return build.both(holds, build.delayed(before, steps + 1, UNKNOWN))

    def partial(self, formula: Formula, age: int) -> Signal:
        """Return at step t what is known by then about step t − age, which may be yet to come."""
        last = horizon(formula)
        if age >= last:
            return self.builder.delayed(self.final(formula), age - last, UNKNOWN)
        if (formula, age) not in self._partials:
            self._partials[formula, age] = self._partial(formula, age)
        return self._partials[formula, age]

    def _partial(self, formula: Formula, age: int) -> Signal:
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise FormulaError(
                "An early monitor of this formula would be too large, "
                "expected shorter windows inside of others, or --mode delay"
            )
        build = self.builder
        match formula:
            case Atom():
                return UNKNOWN
            case Constant():
                return self.final(formula)
            case Not(child):
                return build.negated(self.partial(child, age))
            case Join(joint, left, right):
                return self._joined(joint, self.partial(left, age), self.partial(right, age))
            case Window(Past.HISTORICALLY | Future.ALWAYS):
                return build.negated(self.partial(_dual(formula), age))
            case Window(Past.ONCE, lower, upper, right):
                return self._partial_once(right, lower, upper, age)
            case Window(Past.SINCE, 0, None, right, left):
                assert left is not None
                earlier = self._partial_existing(formula, age + 1)
                held = build.both(self.partial(left, age), earlier)
                return build.either(self._partial_existing(right, age), held)
        assert isinstance(formula, Window)
        return self._partial_window(formula, age)

    def _partial_existing(self, formula: Formula, age: int) -> Signal:
        return self.builder.both(self._started(age), self.partial(formula, age))

    def _partial_once(self, child: Formula, lower: int, upper: int | None, age: int) -> Signal:
        """Take steps whose verdict is open one by one, and those that are settled as a window."""
        build = self.builder
        last = horizon(child)
        first = max(lower + age, last)
        settled = FALSE
        if upper is None or upper + age >= first:
            until = None if upper is None else upper + age - first
            settled = self._window(self._existing(child), 0, until)
            settled = build.delayed(settled, first - last, FALSE)
        for each in range(lower + age, min(last, first if upper is None else upper + age + 1)):
            settled = build.either(settled, self._partial_existing(child, each))
        return settled

    def _partial_window(self, formula: Window, age: int) -> Signal:
        """Take the steps of a window one by one, the last one first."""
        build = self.builder
        is_future = isinstance(formula.operator, Future)
        upper = formula.upper
        if upper is None:
            # From the window's last step on, it is the question without a window.
            assert formula.left is not None
            plain = Window(Past.SINCE, 0, None, formula.right, formula.left)
            found = self._partial_existing(plain, age + formula.lower)
            steps = range(formula.lower - 1, -1, -1)
        else:
            found, steps = FALSE, range(upper, -1, -1)
        for step in steps:
            self._parts += 1
            at = age - step if is_future else age + step
            if formula.left is None:
                held = found
            elif step == upper:
                held = FALSE
            else:
                held = build.both(self.partial(formula.left, at), found)
            if step >= formula.lower and upper is not None:
                right = self.partial(formula.right, at)
                if not is_future:
                    right = build.both(self._started(at), right)
                held = build.either(held, right)
            found = held
        return found

    def about_first(self, formula: Formula) -> Signal:
        """Return at step t what is known by then about step 0."""
        build = self.builder
        match formula:
            case Constant():
                return self.final(formula)
            case Not(child):
                return build.negated(self.about_first(child))
            case Join(joint, left, right):
                return self._joined(joint, self.about_first(left), self.about_first(right))
            case Window(Future.ALWAYS):
                return build.negated(self.about_first(_dual(formula)))
            case Window(Future()):
                return self._sought(formula)
        return self._latched(formula)

    def _between(self, first: int, last: int) -> Signal:
        """Return whether this step is one of some."""
        return self.builder.both(
            self._started(first), self.builder.negated(self._started(last + 1))
        )

    def _latched(self, formula: Formula) -> Signal:
        """Follow the verdict about step 0 as it grows older, and keep it when it is settled."""
        build = self.builder
        found = kept = build.state(UNKNOWN)
        for age in range(horizon(formula), -1, -1):
            now = build.when(self._between(age, age), self.partial(formula, age))
            found = build.merged(now, found)
            if age == horizon(formula):
                build.remember(kept, found)
        return found

    def _sought(self, formula: Window) -> Signal:
        """Watch the window of step 0: what is settled in two states, the rest step by step."""
        assert formula.upper is not None
        build = self.builder
        left = Constant(True) if formula.left is None else formula.left
        oldest = max(horizon(formula.right), horizon(left))
        # All steps that are further ahead are known as little as this one.
        furthest = -1 - max(_reach(formula.right), _reach(left))
        found_state, may_state = build.state(FALSE), build.state(TRUE)
        found, may = found_state, may_state
        for age in range(oldest, furthest, -1):
            inside = self._between(formula.lower + age, formula.upper + age)
            here = build.both(inside, self.partial(formula.right, age))
            found = build.either(found, build.both(may, here))
            inside = self._between(age, formula.upper + age)
            held = build.either(build.negated(inside), self.partial(left, age))
            may = build.both(may, held)
            if age == oldest:
                build.remember(found_state, found)
                build.remember(may_state, may)
        is_before = build.negated(self._started(formula.lower + furthest))
        held = build.either(build.negated(is_before), self.partial(left, furthest))
        is_ahead = build.negated(self._started(formula.upper + furthest + 1))
        ahead = build.both(is_ahead, build.both(held, self.partial(formula.right, furthest)))
        return build.either(found, build.both(may, ahead))


def _reach(formula: Formula) -> int:
    """Return how many steps ahead, at the most, something may be known already."""
    match formula:
        case Not(child):
            return _reach(child)
        case Join(_, left, right):
            return max(_reach(left), _reach(right))
        case Window(operator, lower, upper, right, left):
            inner = max(_reach(right), 0 if left is None else _reach(left))
            if isinstance(operator, Future):
                return inner
            return inner + (lower + 1 if upper is None else upper)
    return 0


def _dual(formula: Window) -> Window:
    """Return the window of which this one is the negation, over the negation."""
    is_past = isinstance(formula.operator, Past)
    operator = Past.ONCE if is_past else Future.EVENTUALLY
    return Window(operator, formula.lower, formula.upper, Not(formula.right))

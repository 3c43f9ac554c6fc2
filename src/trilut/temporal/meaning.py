"""What a formula means: its verdict at every step of a trace, straight from the definition.

This is written to be read, and slow: the compiler, the hardware and other tools are compared with
it. AND is the minimum of Kleene's truth values −1, 0, +1, and OR is the maximum. A sample that is
missing, and one after the end of the trace, is UNKNOWN. Steps before the first one do not exist: a
window of the past has only the steps that do.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from trilut.temporal.formula import Atom, Constant, Formula, Future, Join, Joint, Not, Past, Window

__all__ = ["verdicts"]

FALSE, UNKNOWN, TRUE = -1, 0, 1


def verdicts(formula: Formula, trace: Mapping[Atom, NDArray[np.int8]]) -> list[int]:
    """Return the verdict of a formula at each step of a trace.

    Parameters
    ----------
    trace : mapping
        The truth value of each atom at each step, all of one length.
    """
    length = len(next(iter(trace.values())))
    seen = _Trace(trace, length)
    return [seen.verdict(formula, step) for step in range(length)]


class _Trace:
    """A trace, and the verdicts that have been asked for."""

    def __init__(self, trace: Mapping[Atom, NDArray[np.int8]], length: int) -> None:
        self._values = {atom: values.tolist() for atom, values in trace.items()}
        self._length = length
        self._known: dict[tuple[Formula, int], int] = {}

    def verdict(self, formula: Formula, step: int) -> int:
        key = formula, step
        if key not in self._known:
            self._known[key] = self._find(formula, step)
        return self._known[key]

    def _find(self, formula: Formula, step: int) -> int:
        match formula:
            case Atom():
                return self._values[formula][step] if step < self._length else UNKNOWN
            case Constant(is_true):
                return TRUE if is_true else FALSE
            case Not(child):
                return -self.verdict(child, step)
            case Join(Joint.AND, left, right):
                return min(self.verdict(left, step), self.verdict(right, step))
            case Join(Joint.OR, left, right):
                return max(self.verdict(left, step), self.verdict(right, step))
            case Join(_, left, right):
                return max(-self.verdict(left, step), self.verdict(right, step))
        return self._over_window(formula, step)

    def _over_window(self, formula: Window, step: int) -> int:
        seen = [self.verdict(formula.right, at) for at in self._steps(formula, step)]
        match formula.operator:
            case Past.ONCE | Future.EVENTUALLY:
                return max(seen, default=FALSE)
            case Past.HISTORICALLY | Future.ALWAYS:
                return min(seen, default=TRUE)
        assert formula.left is not None
        best = FALSE
        for at, value in zip(self._steps(formula, step), seen, strict=True):
            # From the present step to the one where the right side holds, that one left out.
            is_future = isinstance(formula.operator, Future)
            between = range(step, at) if is_future else range(at + 1, step + 1)
            held = min((self.verdict(formula.left, each) for each in between), default=TRUE)
            best = max(best, min(value, held))
        return best

    def _steps(self, formula: Window, step: int) -> range:
        if isinstance(formula.operator, Future):
            assert formula.upper is not None
            return range(step + formula.lower, step + formula.upper + 1)
        first = 0 if formula.upper is None else max(0, step - formula.upper)
        return range(first, step - formula.lower + 1)

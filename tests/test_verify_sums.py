import pytest

from trilut.verify.proof.aig import FALSE, TRUE, Aig
from trilut.verify.proof.codes import trit_code
from trilut.verify.proof.diagrams import Diagrams
from trilut.verify.proof.sums import SumError, SumInput, prove_sum

ALL = (-1, 0, 1)


def worths(signs):
    return [{v: sign * v for v in (-1, 0, 1)} for sign in signs]


class Tree:
    """A sum of trits by full adders and one long adder at the end, cut after every adder."""

    def __init__(self, values, *, wrong=None):
        self.aig = Aig()
        self.trits = [
            SumInput((self.aig.input(), self.aig.input()), trit_code(each)) for each in values
        ]
        self.drivers = {}
        self._wrong = wrong
        self._num_adders = 0
        width = len(values).bit_length() + 1
        columns = [[] for _ in range(width)]
        for trit in self.trits:
            # v + 1 is [v = +1] + [v ≥ 0].
            columns[0] += [trit.wires[1], trit.wires[0] ^ 1]
        constant = -len(values) % (1 << width)
        for place in range(width):
            if constant >> place & 1:
                columns[place].append(TRUE)
        while max(map(len, columns)) > 2:
            columns = self._level(columns)
        self.number = self._ripple(columns)

    def cut(self, driver):
        if self.aig.fanins[driver >> 1] is None:
            return driver
        bit = self.aig.input()
        self.drivers[bit] = driver
        return bit

    def _carry(self, a, b, c):
        is_wrong = self._num_adders == self._wrong
        return self.aig.either(self.aig.both(a, b), c) if is_wrong else self._majority(a, b, c)

    def _majority(self, a, b, c):
        aig = self.aig
        return aig.either(aig.both(a, b), aig.both(c, aig.either(a, b)))

    def _level(self, columns):
        made = [[] for _ in [*columns, None]]
        for place, column in enumerate(columns):
            for start in range(0, len(column), 3):
                bits = column[start : start + 3]
                if len(bits) < 3:
                    made[place] += bits
                    continue
                made[place].append(self.cut(self.aig.differ(self.aig.differ(*bits[:2]), bits[2])))
                made[place + 1].append(self.cut(self._carry(*bits)))
                self._num_adders += 1
        return made[: len(columns)]

    def _ripple(self, columns):
        carry, number = FALSE, []
        for column in columns:
            a, b = (*column, FALSE, FALSE)[:2]
            number.append(self.aig.differ(self.aig.differ(a, b), carry))
            carry = self._majority(a, b, carry)
        return number

    def prove(self, signs=None):
        signs = signs or [1] * len(self.trits)
        return prove_sum(self.aig, self.number, self.trits, worths(signs), self.drivers)


@pytest.mark.parametrize("count", [1, 2, 3, 60, 500])
def test_a_tree_of_any_size_is_proven(count):
    assert Tree([ALL] * count).prove() == 0


def test_trits_that_do_not_take_all_values_are_proven():
    assert Tree([(-1, 1), (0,), (0, 1), (-1,), (-1, 0)] * 5).prove() == 0


def test_a_constant_is_found():
    tree = Tree([ALL] * 3)
    tree.trits[0] = SumInput(tree.trits[0].wires, trit_code((0,)))
    assert tree.prove([0, 1, 1]) == 0
    tree.trits[0] = SumInput(tree.trits[0].wires, trit_code((-1,)))
    assert tree.prove([0, 1, 1]) == -1


@pytest.mark.parametrize("wrong", [0, 30, 100])
def test_one_wrong_carry_of_many_is_refused(wrong):
    with pytest.raises(SumError, match=r"^an adder does not add$"):
        Tree([ALL] * 60, wrong=wrong).prove()


def test_a_trit_that_counts_twice_is_refused():
    tree = Tree([ALL] * 4)
    tree.number.insert(0, FALSE)
    message = r"^output 0 does not count as -1 for -1, \+0 for \+0, \+1 for \+1$"
    with pytest.raises(SumError, match=message):
        tree.prove()


def test_a_trit_of_another_sum_is_refused():
    message = r"^output 1 does not count as \+0 for -1, \+0 for \+0, \+0 for \+1$"
    with pytest.raises(SumError, match=message):
        Tree([ALL] * 4).prove([1, 0, 1, 1])


def test_an_overflow_is_refused():
    tree = Tree([ALL] * 4)
    tree.number.pop()
    with pytest.raises(SumError, match=r"^a sum from -4 to 4 does not fit 3 bits$"):
        tree.prove()


def test_a_bit_from_elsewhere_is_refused():
    tree = Tree([ALL] * 4)
    tree.number[0] = tree.aig.differ(tree.number[0], tree.aig.input())
    with pytest.raises(SumError, match=r"^a sum depends on more than its trits$"):
        tree.prove()


def test_a_copy_that_skips_a_level_is_proven():
    # 1 + a is the bits ~a and a of weights 1 and 2: so a, and what is made of it, meet again.
    aig = Aig()
    trits = [SumInput((aig.input(), aig.input()), trit_code((0, 1))) for _ in range(3)]
    a, b, c = (trit.wires[1] for trit in trits)
    low, high = aig.input(), aig.input()
    drivers = {low: aig.differ(b, c), high: aig.both(b, c)}
    first, carry = aig.input(), aig.input()
    drivers |= {first: aig.differ(low, a) ^ 1, carry: aig.both(low, a ^ 1)}
    ones = aig.differ(aig.differ(high, a), carry)
    fours = aig.either(aig.both(high, a), aig.both(carry, aig.either(high, a)))
    assert prove_sum(aig, [first, ones, fours, FALSE], trits, worths([1, 1, 1]), drivers) == 1


def test_a_function_of_many_bits_that_is_no_adder_is_given_up(monkeypatch):
    monkeypatch.setattr("trilut.verify.proof.sums._MAX_NODES", 20)
    with pytest.raises(SumError, match=r"^an adder of \d+ bits is too large to try$"):
        Tree([ALL] * 60).prove()


def test_equal_functions_have_one_diagram():
    diagrams = Diagrams(100)
    a = diagrams.choose(0, (0, 1, 1))
    b = diagrams.choose(1, (0, 1))
    neither = diagrams.both(a ^ 1, b ^ 1)
    assert diagrams.both(neither ^ 1, a ^ 1) == diagrams.both(b, a ^ 1)
    assert diagrams.both(a, a ^ 1) == 0
    assert list(diagrams.parts(diagrams.both(a, b), 0)) == [0, b, b]
    with pytest.raises(MemoryError, match=r"^Diagrams of more than 1 nodes$"):
        Diagrams(1).choose(0, (0, 1))

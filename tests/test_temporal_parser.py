from decimal import Decimal

import pytest
from formulas import random_formula

from trilut.errors import FormulaError
from trilut.temporal import horizon, parse, parse_features
from trilut.temporal.formula import Atom, Comparison, Future, Join, Joint, Not, Past, Window
from trilut.temporal.parser import seconds

P, Q = (Atom(name, Comparison.ABOVE, 0.0) for name in "pq")


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("p", P),
        ("x >= .5", Atom("x", Comparison.AT_LEAST, 0.5)),
        ("-1e2 < x", Atom("x", Comparison.ABOVE, -100.0)),
        ('"a b" <= 3', Atom("a b", Comparison.AT_MOST, 3.0)),
        ("!p & q | p", Join(Joint.OR, Join(Joint.AND, Not(P), Q), P)),
        ("p -> q => p", Join(Joint.IMPLIES, P, Join(Joint.IMPLIES, Q, P))),
        ("not once p", Not(Window(Past.ONCE, 0, None, P))),
        ("G[0,3] p", Window(Future.ALWAYS, 0, 3, P)),
        ("historically[2,inf] p", Window(Past.HISTORICALLY, 2, None, P)),
        ("p since[1,4] q and q", Join(Joint.AND, Window(Past.SINCE, 1, 4, Q, P), Q)),
        (
            "p until[0,2] q until[0,1] p",
            Window(Future.UNTIL, 0, 1, P, Window(Future.UNTIL, 0, 2, Q, P)),
        ),
        ("F[0,20ms] p", Window(Future.EVENTUALLY, 0, 2, P)),
        ("O and G", Join(Joint.AND, *(Atom(name, Comparison.ABOVE, 0.0) for name in "OG"))),
    ],
)
def test_formulas(text, formula):
    assert parse(text, period=Decimal("0.01")) == formula
    assert parse(str(formula)) == formula


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Column 1: expected a feature, a number or '(', not the end"),
        ("p and", "Column 6: expected a feature, a number or '(', not the end"),
        ("p q", "Column 3: expected an operator or the end, not 'q'"),
        ("(p", "Column 3: expected ')', not the end"),
        ("p ? q", "Column 3: '?' has no place in a formula"),
        ("x >= y", "Column 6: expected a number, not 'y'"),
        ("3 and p", "Column 3: expected a comparison, not 'and'"),
        ("since p", "Column 1: expected a feature, a number or '(', not 'since'"),
        (
            "p and always q",
            "Column 7: 'always' looks ahead, so it needs bounds, for example always[0,10]",
        ),
        ("F[0,inf] p", "Column 5: expected a number of steps, not 'inf'"),
        ("F[3,2] p", "Column 1: the window [3,2] is empty"),
        ("F[0,1.5] p", "Column 5: 1.5 is no whole number of steps"),
        ("F[0,5ms] p", "Column 5: a time needs the period of the samples (--period)"),
        ("F[0,99999999] p", "Column 5: 99999999 steps, expected at most 16777216"),
        (
            "F[0,9999999] F[0,9999999] p",
            "The formula looks 19999998 steps ahead, expected at most 16777216",
        ),
        ("x >= 1e999", "Column 6: too large a number"),
        ("(" * 5000 + "p", "Column 101: nested more than 100 deep"),
        ("p" * 70000, "The formula has 70000 characters, expected at most 65536"),
    ],
)
def test_wrong_formulas(text, message):
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert str(caught.value) == message


def test_deep_chains_do_not_end_the_interpreter():
    with pytest.raises(FormulaError, match=r"^Column \d+: nested more than 100 deep$"):
        parse(" -> ".join("p" * 5000))
    with pytest.raises(FormulaError, match=r"^Column 101: nested more than 100 deep$"):
        parse("!" * 5000 + "p")


@pytest.mark.parametrize("seed", range(30))
def test_what_is_printed_can_be_read(seed):
    formula = random_formula(seed, depth=4)
    assert parse(str(formula)) == formula


@pytest.mark.parametrize(
    ("text", "steps"),
    [("p", 0), ("F[1,3] once p", 3), ("(F[0,2] p) until[0,5] G[0,4] q", 9), ("once F[0,2] p", 2)],
)
def test_horizon(text, steps):
    assert horizon(parse(text)) == steps


def test_times():
    assert seconds("2.5 ms") == Decimal("0.0025")
    for wrong in ("5", "0ms", "e3s", "1h"):
        with pytest.raises(FormulaError) as caught:
            seconds(wrong)
        assert str(caught.value) == (
            f"{wrong!r} is no time, expected for example '10ms' (s, ms, us, ns)"
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x:40", "Feature 'x' has 40 bits, expected 1…32"),
        ("x:8,y,x", "There are two features 'x', expected different names"),
        (
            "x:8:2..1",
            "Feature 'x' has the values 2…1, expected finite numbers, the first below the second",
        ),
        (
            "x:8:a..b",
            "'x:8:a..b' is no feature, expected NAME, NAME:BITS or NAME:BITS:LOWEST..HIGHEST",
        ),
        (":8", "':8' is no feature, expected NAME, NAME:BITS or NAME:BITS:LOWEST..HIGHEST"),
    ],
)
def test_wrong_features(text, message):
    with pytest.raises(FormulaError) as caught:
        parse_features(text)
    assert str(caught.value) == message

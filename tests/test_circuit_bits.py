import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from trilut.circuit.bits import bits_to_text, pack_integers, text_to_bits, unpack_integers
from trilut.circuit.trit import pack_trits, unpack_trits


@st.composite
def batches(draw):
    widths = draw(st.lists(st.integers(1, 32), min_size=1, max_size=6))
    signed = draw(st.lists(st.booleans(), min_size=len(widths), max_size=len(widths)))
    fields = [
        st.integers(-(1 << width - 1), (1 << width - 1) - 1)
        if is_signed
        else st.integers(0, (1 << width) - 1)
        for width, is_signed in zip(widths, signed, strict=True)
    ]
    vectors = draw(st.lists(st.tuples(*fields), max_size=8))
    return np.array(vectors, dtype=np.int64).reshape(-1, len(widths)), widths, signed


@given(batches())
def test_integers_stand_side_by_side(batch):
    values, widths, signed = batch
    for vector, text in zip(
        values.tolist(), bits_to_text(pack_integers(values, widths, signed=signed)), strict=True
    ):
        port, start = 0, 0
        for value, width in zip(vector, widths, strict=True):
            port |= value % (1 << width) << start
            start += width
        assert text == f"{port:0{start}b}"


@given(batches())
def test_integers_round_trip(batch):
    values, widths, signed = batch
    bits = pack_integers(values, widths, signed=signed)
    assert np.array_equal(unpack_integers(bits, widths, signed=signed), values)


@given(
    npst.arrays(
        np.int8,
        st.tuples(st.integers(0, 5), st.integers(1, 9)),
        elements={"min_value": -1, "max_value": 1},
    )
)
def test_trits_round_trip(trits):
    assert np.array_equal(unpack_trits(pack_trits(trits)), trits)


def test_code_of_trits():
    assert bits_to_text(pack_trits([[-1, 0, 1]])) == ["100001"]


def test_illegal_code():
    assert unpack_trits(text_to_bits(["1101"])).tolist() == [[-1, 2]]


@given(
    npst.arrays(
        np.uint8, st.tuples(st.integers(1, 5), st.integers(1, 70)), elements={"max_value": 1}
    )
)
def test_text_round_trip(bits):
    assert np.array_equal(text_to_bits(bits_to_text(bits)), bits)


def test_no_text():
    assert text_to_bits([]).shape == (0, 0)


@pytest.mark.parametrize(
    ("value", "signed", "message"),
    [
        (8, False, "Value 8 of vector 0 does not fit the 3 unsigned bits of field 1"),
        (-1, False, "Value -1 of vector 0 does not fit the 3 unsigned bits of field 1"),
        (4, True, "Value 4 of vector 0 does not fit the 3 signed bits of field 1"),
        (-5, True, "Value -5 of vector 0 does not fit the 3 signed bits of field 1"),
    ],
)
def test_value_too_wide(value, signed, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        pack_integers([[0, value]], [3, 3], signed=signed)


def test_wrong_number_of_fields():
    with pytest.raises(ValueError, match=r"^Values have shape \(1, 2\), expected \(vectors, 3\)$"):
        pack_integers([[1, 2]], [1, 2, 3], signed=False)


def test_texts_of_different_width():
    with pytest.raises(
        ValueError,
        match=r"^Texts have different widths, expected the same number of bits in each$",
    ):
        text_to_bits(["01", "011"])


def test_text_with_x():
    with pytest.raises(ValueError, match=r"^Text holds 'X', expected zeros and ones$"):
        text_to_bits(["0X1"])

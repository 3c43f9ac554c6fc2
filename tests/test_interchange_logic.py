import numpy as np
import pytest
from circuits import random_netlist, random_nodes
from commandline import fails

from trilut import load, sim
from trilut.cli import main
from trilut.errors import FormatError
from trilut.interchange import export_netlist, gates_alone, import_netlist
from trilut.interchange.aiger import read_aiger
from trilut.interchange.blif import read_blif
from trilut.interchange.logic import netlist_of

LANGUAGES = ["aiger", "aiger-ascii", "blif"]


def bits(trits):
    """Return the two bits of each trit."""
    return np.stack([trits == 1, trits == -1], axis=2).reshape(len(trits), -1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_trits_come_back_as_two_bits(language, tmp_path):
    netlist = random_netlist(1, num_inputs=7, num_gates=60, num_outputs=9)
    (path,) = export_netlist(netlist, tmp_path, language)
    back = import_netlist(path)
    trits = np.random.default_rng(0).integers(-1, 2, (200, 7))
    expected = bits(netlist.evaluate(trits))
    assert np.array_equal(sim.evaluate(back, 2 * bits(trits).astype(np.int8) - 1) == 1, expected)
    names = [feature.name for feature in back.encoder.features]
    assert names[:3] == ["n0_p", "n0_m", "n1_p"]
    assert back.provenance["outputs"][:2] == ["o0_p", "o0_m"]


@pytest.mark.parametrize("optimized", [False, True])
@pytest.mark.parametrize("language", ["aiger", "aiger-ascii"])
def test_bits_come_back_as_bits(language, optimized, tmp_path):
    netlist = random_netlist(2, num_inputs=9, num_gates=80, num_outputs=12, valence=2)
    (path,) = export_netlist(netlist, tmp_path, language, optimized=optimized)
    back = import_netlist(path)
    inputs = np.random.default_rng(0).choice([-1, 1], (200, 9)).astype(np.int8)
    assert np.array_equal(back.evaluate(inputs), netlist.evaluate(inputs))


def test_gates_of_six_bits_come_back_as_bits(tmp_path):
    netlist = random_nodes(
        1, num_inputs=8, num_gates=30, num_outputs=9, shapes=("bbbbbb", "bbb", "tt")
    )
    (path,) = export_netlist(netlist, tmp_path, "aiger")
    back = import_netlist(path)
    inputs = np.random.default_rng(0).choice([-1, 1], (200, 8)).astype(np.int8)
    # A trit comes back as its two wires.
    bits = [inputs[:, [net]] * sign for net in range(8) for sign in (1, -1)[: 2 - net % 2]]
    kinds = netlist.kinds[netlist.outputs]
    ends = np.cumsum(kinds - 1)
    found = back.evaluate(np.concatenate(bits, axis=1))
    expected = netlist.evaluate(inputs)
    assert np.array_equal(found[:, ends - kinds + 1] == 1, expected == 1)
    is_trit = kinds == 3
    assert np.array_equal(found[:, ends[is_trit] - 1] == 1, expected[:, is_trit] == -1)


def test_constants_inverted_inputs_and_equal_outputs():
    logic = read_aiger(b"aag 2 2 0 6 0\n2\n4\n0\n1\n2\n3\n5\n5\ni1 b\no1 b\no2 b\n", "net.aag")
    netlist = netlist_of(logic, name="net")
    inputs = [[-1, -1], [-1, 1], [1, -1], [1, 1]]
    expected = [[-1, 1, a, -a, -b, -b] for a, b in inputs]
    assert netlist.evaluate(inputs).tolist() == expected
    assert [feature.name for feature in netlist.encoder.features] == ["i0", "b"]
    assert netlist.provenance["outputs"] == ["o0", "b", "b_2", "o3", "o4", "o5"]


def test_ands_in_any_order():
    # A half adder, as http://fmv.jku.at/aiger/FORMAT.aiger has one, from its last line.
    text = b"aag 7 2 0 2 3\n2\n4\n6\n12\n12 5 3\n6 13 15\n14 2 4\nc\nmore\n"
    netlist = netlist_of(read_aiger(text, "net.aag"), name="net")
    inputs = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    a, b = inputs.T > 0
    assert np.array_equal(netlist.evaluate(inputs).T > 0, [a ^ b, ~a & ~b])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"aag 1 1 0 1 0\n2\n4\n", "literal 4 is never driven"),
        (b"aag 3 1 0 1 1\n2\n6\n6 6 2\n", "literal 6 depends on itself"),
        (b"aag 1 1 0 1 0\n3\n2\n", "input 0 is literal 3"),
        (b"aag 2 1 0 1 1\n2\n4\n2 2 2\n", "an and is literal 2"),
        (b"aag 9 1 0 1 2\n2\n4\n4 2 2\n4 2 3\n", "two ands have one literal"),
        (b"aag 1 1 0 1 0\n2\nx\n", "expected 1 numbers, not 'x'"),
        (b"aag 900 1 0 1 899\n2\n", "the header promises more than there is"),
        (b"aig 3 1 0 1 1\n4\n\x00\x00",
         "the header of a binary file has another number of variables"),
        (b"aig 2 1 0 1 1\n4\n", "the file ends among the ands"),
        (b"aig 2 1 0 1 1\n4\n\x7f\x00", "and 4 reads -123 and -123"),
        (b"aig 2 1 0 1 1\n4\n" + b"\xff" * 9, "a number is too large"),
    ],
)  # fmt: skip
def test_damaged_aiger(text, reason):
    with pytest.raises(FormatError) as caught:
        read_aiger(text, "net.aig")
    assert str(caught.value) == f"'net.aig' is not a complete AIGER file: {reason}"


def test_other_files_and_latches():
    with pytest.raises(
        FormatError, match=r"^'x' is not an AIGER file: it begins with 'hello world'$"
    ):
        read_aiger(b"hello world\n", "x")
    with pytest.raises(
        FormatError, match=r"^'x' has latches or properties, expected combinational AIGER$"
    ):
        read_aiger(b"aag 1 0 1 1 0\n2 3\n2\n", "x")


BLIF = """\
# majority, its complement by rows for 0, and constants; signals before they are driven
.model voter
.inputs a \\
  b c
.outputs most few yes no same
.names most same
1 1
.names ab ac bc most
1-- 1
-1- 1
--1 1
.names a b c few
11- 0
1-1 0
-11 0
.names a b ab
11 1
.names a c ac   # a comment
11 1
.names b c bc
11 1
.names yes
1
.names no
.end
.subckt what comes after the end
"""


def test_blif_of_others(tmp_path, capsys):
    path, net = tmp_path / "voter.blif", tmp_path / "voter.trilut"
    path.write_text(BLIF)
    assert main(["import", str(path), "-o", str(net)]) == 0
    assert "voter.trilut" in capsys.readouterr().out
    netlist = load(net)
    inputs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
    most = inputs.sum(axis=1) > 0
    yes = np.ones(8, dtype=bool)
    found = netlist.evaluate(inputs).T > 0
    assert np.array_equal(found, [most, ~most, yes, ~yes, most])
    assert netlist.name == "voter"
    path.write_text(BLIF.replace("yes\n1\n", "yes\n1 1\n"))
    assert fails(capsys, "import", path, "-o", net) == (
        f"{str(path)!r} in line 23 has '1 1', expected a row of .names"
    )


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (".names a b ab", ".latch a ab",
         "in line 16 has .latch, expected combinational logic in .names"),
        (".names a b ab", ".names a ab ab", "in line 16 drives 'ab', which depends on itself"),
        (".names b c bc", ".names b x bc", "in line 20 reads 'x', which nothing drives"),
        ("few yes", "few what", "as an output reads 'what', which nothing drives"),
        ("few\n11- 0", "few\n11- 1", "in line 14 has rows for 0 and for 1 in one .names"),
        (".names no", ".names yes", "in line 24 drives 'yes' a second time"),
        (".names no", ".names", "in line 24 has .names without a name"),
        ("b c\n", "b b c\n", "has 4 inputs, 3 of them different, and 5 outputs, expected different "
         "ones, and some of each"),
    ],
)  # fmt: skip
def test_blif_that_is_wrong(old, new, reason):
    with pytest.raises(FormatError) as caught:
        read_blif(BLIF.replace(old, new, 1).encode(), "net.blif")
    assert str(caught.value) == f"'net.blif' {reason}"


def test_gates_alone_take_any_trits():
    netlist = random_netlist(1, num_inputs=4, num_gates=9, num_outputs=3, with_encoder=True)
    assert gates_alone(netlist, optimized=False).encoder is None

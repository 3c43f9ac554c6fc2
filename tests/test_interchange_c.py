import ctypes
import dataclasses
import re
import subprocess

import numpy as np
import pytest
from circuits import all_trits, monotone_netlist, random_netlist, random_nodes
from commandline import fails
from compiled import STRICT, CompiledNetlist
from regression.make import HERE, KINDS, vectors

from trilut import Encoder, Feature, Head, Netlist, load, save, sim
from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.kinds import Kind
from trilut.circuit.monotone import is_monotone
from trilut.cli import main
from trilut.errors import FormatError, NetlistError
from trilut.interchange import export_netlist

# How each is compiled: all samples of a word, and few.
FORMATS = [("c", 64), ("c-compact", 8)]


def compiled(netlist, directory, language="c", lanes=64, **settings):
    directory.mkdir(exist_ok=True)
    _, path = export_netlist(netlist, directory, language, name="net", **settings)
    return CompiledNetlist(netlist, path, lanes=lanes)


def check(netlist, inputs, directory, language, lanes, **settings):
    """Compare the C with the reference on inputs, and let it test itself."""
    code = compiled(netlist, directory, language, lanes, **settings)
    if netlist.head is None:
        trits = inputs
        if isinstance(inputs, FeatureVectors):
            trits = netlist.encoder.trits(inputs)
        expected = netlist.evaluate(trits)
        assert np.array_equal(code.many(inputs), expected)
        assert np.array_equal(code.one_by_one(inputs[:50]), expected[:50])
    else:
        expected = sim.classify(
            netlist, inputs, engine="reference", certain=is_monotone(netlist)
        ).arrays()
        many, alone = code.many(inputs).arrays(), code.one_by_one(inputs[:50]).arrays()
        assert many.keys() == alone.keys() == expected.keys()
        for name, array in expected.items():
            assert np.array_equal(many[name], array), name
            assert np.array_equal(alone[name], array[:50]), name
    assert code.self_test() == 0


@pytest.mark.parametrize(("language", "lanes"), FORMATS)
@pytest.mark.parametrize("name", KINDS)
def test_regression_netlists(name, language, lanes, tmp_path):
    netlist = load(HERE / f"{name}.trilut")
    inputs = FeatureVectors.concatenate(list(vectors(netlist).values()))
    check(netlist, inputs, tmp_path, language, lanes)


@pytest.mark.parametrize(("language", "lanes"), FORMATS)
@pytest.mark.parametrize("num_classes", [0, 3])
@pytest.mark.parametrize("shapes", [("bbbbbb", "bbbb"), ("ttt", "ttbb", "bbbbb", "bt")])
def test_gates_of_any_wires(shapes, num_classes, language, lanes, tmp_path):
    netlist = random_nodes(
        len(shapes), num_inputs=7, num_gates=40, num_outputs=12, num_classes=num_classes,
        shapes=shapes,
    )  # fmt: skip
    check(netlist, all_trits(netlist), tmp_path, language, lanes)


def test_gates_of_bits_alone(tmp_path):
    netlist = random_six_bits(num_inputs=9, num_gates=30)
    assert set(netlist.kinds.tolist()) == {Kind.BIT}
    for language, lanes in FORMATS:
        check(netlist, all_trits(netlist), tmp_path / language, language, lanes)


def random_six_bits(num_inputs, num_gates):
    rng = np.random.default_rng(0)
    return Netlist(
        num_inputs,
        rng.choice([-1, 1], (num_gates, 64)),
        np.array([rng.choice(num_inputs, 6, replace=False) for _ in range(num_gates)]),
        num_inputs + np.arange(num_gates),
        np.full(num_inputs + num_gates, Kind.BIT),
        head=Head(("a", "b", "c"), (num_gates // 3,) * 3),
    )


@pytest.mark.parametrize(("language", "lanes"), FORMATS)
def test_scores_of_any_wires(language, lanes, tmp_path):
    netlist = random_nodes(
        3, num_inputs=6, num_gates=30, num_outputs=12, num_classes=3, scores=True,
        with_encoder=True,
    )  # fmt: skip
    check(netlist, random_vectors(netlist.encoder), tmp_path, language, lanes)


def test_scores_that_are_all_constants(tmp_path):
    netlist = Netlist(
        1, [[3, 3], [-2, -2]], [[0], [0]], [1, 2], [Kind.BIT, Kind.SCORE, Kind.SCORE],
        head=Head(("a", "b"), (1, 1), limit=3),
    )  # fmt: skip
    check(netlist, all_trits(netlist), tmp_path, "c", 64)


def random_trits(netlist, count=200):
    values = [-1, 1] if netlist.valence == 2 else [-1, 0, 1]
    return np.random.default_rng(0).choice(values, (count, netlist.num_inputs)).astype(np.int8)


@pytest.mark.parametrize("valence", [2, 3])
@pytest.mark.parametrize("num_classes", [0, 3])
def test_trits_without_an_encoder(valence, num_classes, tmp_path):
    netlist = random_netlist(
        valence, num_inputs=9, num_gates=60, num_outputs=17, valence=valence,
        num_classes=num_classes,
    )  # fmt: skip
    check(netlist, random_trits(netlist), tmp_path, "c", 32)


def random_vectors(encoder, count=300):
    rng = np.random.default_rng(1)
    lowest = [feature.minimum for feature in encoder.features]
    highest = [feature.maximum for feature in encoder.features]
    values = rng.integers(lowest, highest, (count, len(lowest)), endpoint=True)
    valid = rng.random(values.shape) < 0.7
    return FeatureVectors(np.where(valid, values, 0), valid)


@pytest.mark.parametrize(("language", "lanes"), FORMATS)
@pytest.mark.parametrize("valence", [2, 3])
def test_features_without_a_head(valence, language, lanes, tmp_path):
    netlist = random_netlist(
        3, num_inputs=12, num_gates=50, num_outputs=9, valence=valence, with_encoder=True
    )
    check(netlist, random_vectors(netlist.encoder), tmp_path, language, lanes)


def test_certain_answers_and_prediction_sets(tmp_path):
    netlist = monotone_netlist(
        5, num_inputs=8, num_gates=60, num_outputs=40, num_classes=4, with_encoder=True
    )
    head = dataclasses.replace(netlist.head, set_margin=3)
    netlist = dataclasses.replace(netlist, head=head)
    check(netlist, random_vectors(netlist.encoder), tmp_path, "c", 16)


@pytest.mark.parametrize("missing", [0, -1])
def test_wide_features_values_out_of_range_and_margins_that_no_score_has(missing, tmp_path):
    features = (
        Feature("wide", 32),
        Feature("signed", 20, signed=True, seen=(-1000, 1 << 18)),
        Feature("far", 7, seen=(5, 1 << 40)),
    )
    largest = 2**62 - 1
    low = np.array([-largest, 1 << 31, -70000, largest, 64, 3])
    high = np.array([0, (1 << 32) - 1, 9, largest, 64, largest])
    encoder = Encoder(features, [0, 0, 1, 1, 2, 2], low, high, missing=missing)
    head = Head(("a", "b"), (3, 4), abstain_margin=largest, set_margin=largest)
    netlist = Netlist.of_gates(
        6, [[-1, 0, 1, 0, 0, 1, 1, 1, -1]], [4], [1], [0, 1, 2, 3, 4, 5, 6],
        encoder=encoder, head=head,
    )  # fmt: skip
    check(netlist, random_vectors(encoder), tmp_path, "c", 64)


def test_gates_that_make_no_difference_may_stay(tmp_path):
    netlist = load(HERE / "ternary_two_classes.trilut")
    inputs = FeatureVectors.concatenate(list(vectors(netlist).values()))
    check(netlist, inputs, tmp_path, "c", 64, optimized=False)


def test_numbers_become_the_integers_of_the_encoder(tmp_path):
    features = (
        Feature("plain", 8),
        Feature("scaled", 12, signed=True, scale=0.1, offset=-3.7),
        Feature("wide", 32, scale=1e300),
        Feature("seen", 8, scale=3.0, offset=0.5, seen=(10, 600)),
    )
    encoder = Encoder(features, [0, 1, 2, 3], [3] * 4, [5] * 4)
    netlist = Netlist.of_gates(4, np.empty((0, 9)), [], [], [0, 1, 2, 3], encoder=encoder)
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(2000, 4)) * 10.0 ** rng.integers(-3, 6, (2000, 1))
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, -1e308, 2.0**53, 255.0, 256.0, 200.1]
    samples[: len(special)] = np.array(special)[:, None]
    expected = encoder.quantize(samples)
    got = compiled(netlist, tmp_path).quantize(samples)
    assert np.array_equal(got.valid, expected.valid)
    assert np.array_equal(got.values, expected.values)


def test_a_wrong_statement_fails_the_self_test(tmp_path):
    netlist = load(HERE / "ternary_two_classes.trilut")
    _, path = export_netlist(netlist, tmp_path, "c", name="net")
    text = path.read_text()
    # The last statement is one that an output reads.
    start = text.rindex("    v[", 0, text.index("static void compute(")) + 4
    end = text.index(";", start)
    broken = re.sub(r"= (.*)", r"= (net_word)~\1", text[start:end])
    path.write_text(text[:start] + broken + text[end:])
    assert CompiledNetlist(netlist, path).self_test() == 1


def test_self_test_as_a_program(tmp_path):
    netlist = load(HERE / "one_gate.trilut")
    _, path = export_netlist(netlist, tmp_path, "c", name="net")
    macros = ["-DNET_SELF_TEST", "-DNET_MAIN", "-DNET_NO_FLOAT"]
    subprocess.run(["cc", *STRICT, *macros, path, "-o", tmp_path / "test"], check=True)
    subprocess.run([tmp_path / "test"], check=True)


def test_header_is_one_of_c_plus_plus_too(tmp_path):
    netlist = load(HERE / "one_gate.trilut")
    header, _ = export_netlist(netlist, tmp_path, "c", name="net")
    command = ["c++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++", header]
    subprocess.run(command, check=True)


HOSTILE = (
    'a"; abort(); "',
    "*/ int x; /*",
    "??/",
    "\\",
    "\n#error\n",
    "é\u202e\x00",
    "%s",
    "x" * 9000,
)


def test_names_are_only_text(tmp_path):
    features = tuple(Feature(name, 4) for name in HOSTILE)
    count = len(HOSTILE)
    netlist = Netlist.of_gates(
        count, np.empty((0, 9)), [], [], np.arange(count),
        encoder=Encoder(features, np.arange(count), [3] * count, [5] * count),
        head=Head(HOSTILE, (1,) * count),
        name='net\n#error "\\\n*/', provenance={"data": "??/\n#error"},
    )  # fmt: skip
    code = compiled(netlist, tmp_path)
    for table in ("net_features", "net_classes"):
        texts = (ctypes.c_char_p * count).in_dll(code.library, table)
        # A C string ends at its first 0.
        cut = [name if len(name) < 1023 else name[:1022] + "…" for name in HOSTILE]
        assert [text.decode() for text in texts] == [name.split("\x00")[0] for name in cut]


def test_names_of_files_are_plain(tmp_path):
    netlist = load(HERE / "one_gate.trilut")
    with pytest.raises(
        NetlistError,
        match=r"^Top module name '../net' is not a plain Verilog identifier \(letters, digits and "
        r"underscores, not starting with a digit\)$",
    ):
        export_netlist(netlist, tmp_path, "c", name="../net")
    assert list(tmp_path.iterdir()) == []


def test_unknown_format(tmp_path):
    netlist = load(HERE / "one_gate.trilut")
    with pytest.raises(
        FormatError,
        match=r"^Exporter is 'cc', expected 'c' or 'c-compact' or .*; did you mean 'c'\?$",
    ):
        export_netlist(netlist, tmp_path, "cc")


def test_command(tmp_path, capsys):
    save(load(HERE / "one_gate.trilut"), tmp_path / "net.trilut")
    net, out = str(tmp_path / "net.trilut"), tmp_path / "out"
    assert main(["export", net, "--format", "c", "-o", str(out), "--json"]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["trilut_net.c", "trilut_net.h"]
    assert '"files"' in capsys.readouterr().out
    assert main(["export", net, "--format", "json", "-o", str(out), "--no-optimize"]) == 0
    assert (out / "trilut_net.json").read_bytes() == (tmp_path / "net.trilut").read_bytes()
    assert main(["export", net]) == 2
    assert main(["export", "--list", "--json"]) == 0
    assert '"verilog-logic"' in capsys.readouterr().out
    assert fails(capsys, "export", net, "--format", "pascal", "-o", out).startswith(
        "Exporter is 'pascal', expected 'c' or"
    )

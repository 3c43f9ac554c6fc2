import dataclasses
import functools
import json
import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from circuits import random_netlist, random_nodes
from commandline import fails

import trilut
from trilut import Encoder, Feature, Head, Netlist
from trilut.circuit.encoder import FeatureVectors
from trilut.cli import main
from trilut.engine import Image, Machine, classify, compile_netlist
from trilut.engine.image import HEADER
from trilut.engine.instructions import Field, Op, field, word
from trilut.errors import FormatError, NetlistError

REGRESSION = sorted((Path(__file__).parent / "regression").glob("*.trilut"))


def random_vectors(netlist, image, seed, count=200):
    """Return features of random samples, a tenth of them missing, and their trits."""
    rng = np.random.default_rng(seed)
    if netlist.encoder is None:
        choices = [[-1, 1] if kind == 2 else [-1, 0, 1] for kind in netlist.kinds]
        columns = [rng.choice(values, count) for values in choices[: netlist.num_inputs]]
        values = np.stack(columns, axis=1)
        return FeatureVectors(values, np.ones(values.shape, dtype=bool)), values
    values = np.stack(
        [rng.integers(f.minimum, f.maximum + 1, count) for f in image.encoder.features], axis=1
    )
    vectors = FeatureVectors(values, rng.random(values.shape) > 0.1)
    return vectors, netlist.encoder.trits(vectors)


def check(netlist, lanes, seed=0):
    """Compare the compiled netlist, written and read again, with the reference."""
    image = Image.from_bytes(compile_netlist(netlist, lanes=lanes).to_bytes())
    vectors, trits = random_vectors(netlist, image, seed)
    expected, actual = netlist.classify(trits), classify(image, vectors)
    for name, array in expected.arrays().items():
        np.testing.assert_array_equal(actual.arrays()[name], array, err_msg=name)
    return image


@functools.cache
def small():
    return compile_netlist(
        random_netlist(3, num_inputs=6, num_gates=20, num_outputs=6, num_classes=2)
    )


@pytest.mark.parametrize("path", REGRESSION, ids=lambda path: path.stem)
@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_regression_netlists(path, lanes):
    check(trilut.load(path), lanes)


@pytest.mark.parametrize("with_encoder", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_two_input_gates(seed, with_encoder):
    netlist = random_netlist(
        seed,
        num_inputs=9,
        num_gates=60,
        num_outputs=20,
        num_classes=3,
        valence=2 + seed % 2,
        with_encoder=with_encoder,
    )
    check(netlist, 1 << seed, seed)


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_gates_of_any_inputs(seed, scores):
    netlist = random_nodes(
        seed,
        num_inputs=12,
        num_gates=40,
        num_outputs=8,
        num_classes=3,
        scores=scores,
        with_encoder=seed % 2 == 0,
    )
    check(netlist, 1 << seed % 4, seed)


@pytest.mark.parametrize(("shape", "most"), [("bbbbbb", 7), ("bbbbb", 7), ("bbbb", 3), ("bbb", 2)])
def test_operations_of_a_gate_of_bits(shape, most):
    rng = np.random.default_rng(1)
    inputs = len(shape)
    netlist = Netlist(
        inputs,
        rng.choice([-1, 1], (2, 2**inputs)),
        np.tile(np.arange(inputs), (2, 1)),
        np.array([inputs, inputs + 1]),
        np.full(inputs + 2, 2),
        head=Head(("a", "b"), (1, 1)),
    )
    assert check(netlist, 1).num_gates <= 2 * most


def test_gate_of_three_trits_that_makes_a_bit():
    rng = np.random.default_rng(1)
    kinds = np.array([3, 3, 3, 2, 2])
    tables = rng.choice([-1, 1], (2, 27))
    netlist = Netlist(
        3, tables, np.tile(np.arange(3), (2, 1)), [3, 4], kinds, head=Head(("a", "b"), (1, 1))
    )
    assert check(netlist, 1).num_gates <= 2 * 4


def test_values_that_do_not_count_are_missing():
    features = (Feature("x", 4, seen=(3, 9)), Feature("y", 5, signed=True, seen=(-4, 40)))
    encoder = Encoder(features, [0, 0, 1, 1], [2, 5, -6, 3], [2, 8, 0, 3], [-1, 0, 0, -1])
    netlist = random_netlist(5, num_inputs=4, num_gates=12, num_outputs=6, num_classes=2)
    check(dataclasses.replace(netlist, encoder=encoder), 1)


def test_a_gate_that_is_an_output_and_read_is_one_instruction():
    netlist = Netlist.of_gates(
        2,
        [[-1, 0, 1, 0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 1, 0, -1]],
        [0, 2],
        [1, 0],
        [2, 3],
        head=Head(("a", "b"), (1, 1)),
    )
    image = check(netlist, 1)
    ops = field(image.words[:, 0], Field.OP)
    assert [Op(op) for op in ops if op >= Op.GATE] == [Op.GATE_SUM, Op.SUM_1]


def test_entries_are_used_again():
    netlist = random_netlist(0, num_inputs=8, num_gates=400, num_outputs=4, num_classes=2)
    chain = Netlist.of_gates(
        8,
        netlist.table,
        np.arange(7, 407),
        np.arange(6, 406),
        [406, 407],
        head=Head(("a", "b"), (1, 1)),
    )
    assert check(chain, 1).num_entries <= 16


def test_the_machine_step_by_step():
    image = small()
    machine = Machine(image, np.array([[2, 1, 0, 2, 1, 0]]), np.ones((1, 6), dtype=bool))
    for words in image.words:
        assert not machine.is_over
        machine.step(words)
    assert machine.is_over
    assert machine.feature == 6
    assert machine.scores.shape == (2, 1)


def test_no_samples():
    decisions = classify(
        small(), FeatureVectors(np.empty((0, 6), dtype=np.int64), np.empty((0, 6), dtype=bool))
    )
    assert len(decisions) == 0


def test_a_netlist_without_head():
    netlist = random_netlist(0, num_inputs=3, num_gates=3, num_outputs=3, name="bare")
    with pytest.raises(NetlistError, match=r"^Netlist 'bare' has no head, which the engine needs$"):
        compile_netlist(netlist)


def test_a_feature_that_is_too_wide():
    netlist = random_netlist(0, num_inputs=1, num_gates=3, num_outputs=4, num_classes=2)
    wide = dataclasses.replace(netlist, encoder=Encoder((Feature("x", 17),), [0], [5], [9]))
    with pytest.raises(
        NetlistError, match=r"^Feature 'x' has 17 bits, but the engine takes at most 16$"
    ):
        compile_netlist(wide)


def test_scores_that_are_too_large():
    netlist = random_netlist(0, num_inputs=3, num_gates=3, num_outputs=70_000, num_classes=2)
    with pytest.raises(
        NetlistError,
        match=r"^Netlist 'net' has 17 bits in a score, but the engine takes at most 16$",
    ):
        compile_netlist(netlist)


def test_lanes():
    netlist = random_netlist(0, num_inputs=3, num_gates=3, num_outputs=4, num_classes=2)
    with pytest.raises(ValueError, match=r"^An engine has 1, 2, 4 or 8 lanes, not 3$"):
        compile_netlist(netlist, lanes=3)


def test_every_truncation_is_refused():
    content = small().to_bytes()
    for size in range(len(content)):
        with pytest.raises(
            FormatError,
            match=r"^(Not a model of the engine: it does not begin with 'TLEN'|The model ends "
            r"(after \d+ bytes, within its header|within its program|within its description))$",
        ):
            Image.from_bytes(content[:size])


def test_every_flipped_bit_is_refused():
    content = bytearray(small().to_bytes())
    for place in range(0, 8 * len(content), 3):
        content[place // 8] ^= 1 << place % 8
        with pytest.raises(FormatError):
            Image.from_bytes(bytes(content))
        content[place // 8] ^= 1 << place % 8


def with_header(image, **changes):
    """Return a file whose header says something else, with the right checksum."""
    names = "magic version lanes value_bits features entries words classes score_bits margin zero"
    content = image.to_bytes()
    size = len(image.program_bytes()) - 4
    fields = dict(zip([*names.split(), "digest"], HEADER.unpack_from(content), strict=True))
    program = HEADER.pack(*{**fields, **changes}.values()) + content[HEADER.size : size]
    return program + struct.pack("<I", zlib.crc32(program)) + content[size + 4 :]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "The model is of version 2, expected 1"),
        ({"lanes": 16}, None),
        ({"value_bits": 17}, "The model has 17 bits of a value, expected 1…16"),
        ({"value_bits": 3}, "The model has 3 bits of a value, but its description 2"),
        ({"features": 7}, "The model has 7 features, but its description 6"),
        ({"entries": 0}, "The model has 0 entries, expected 1…16384"),
        ({"classes": 1}, "The model has 1 classes, expected 2…16383"),
        ({"classes": 3}, "The model has 3 classes, but its description 2"),
        ({"score_bits": 17}, "The model has 17 bits of a score, expected 2…16"),
        ({"margin": 0}, "The model has 0 as its abstention margin, expected 1…65535"),
        ({"zero": 1}, "The model's header has something where nothing may be"),
    ],
)
def test_headers_that_are_refused(change, message):
    with pytest.raises(FormatError, match=None if message is None else f"^{re.escape(message)}$"):
        Image.from_bytes(with_header(small(), **change))


def changed(image, step, instruction):
    words = image.words.copy()
    words[step, 0] = instruction
    return dataclasses.replace(image, words=words)


def step_of(image, *ops):
    return int(np.flatnonzero(np.isin(field(image.words[:, 0], Field.OP), ops))[0])


@pytest.mark.parametrize(
    ("op", "instruction", "message"),
    [
        (Op.ENCODE, 7 << 60, r"Step 0 lane 0 has the operation 7, which is none"),
        (Op.ENCODE, word(Op.END), r"The program does not end once, in its last step"),
        (Op.END, word(Op.NOP), r"The program does not end once, in its last step"),
        (Op.ENCODE, word(Op.NOP), r"The program takes 5 features, expected 6"),
        (
            Op.SCORE,
            word(Op.SCORE, **{"class": 2}),
            r"Step \d+ gives a score to class 2 out of turn",
        ),
        (Op.SCORE, word(Op.NOP), r"Step \d+ gives a score to class \d out of turn"),
        (Op.ENCODE, word(Op.EXTEND), r"Step 0 lane 0 extends what is no gate"),
        (
            Op.SCORE,
            word(Op.ENCODE, destination=0),
            r"Step \d+ encodes a feature after the last",
        ),
        (
            Op.SCORE,
            word(Op.GATE, destination=99),
            r"Step \d+ lane 0 has entry 99, but there are \d+",
        ),
    ],
)
def test_programs_that_are_refused(op, instruction, message):
    image = small()
    with pytest.raises(FormatError, match=f"^{message}$"):
        changed(image, step_of(image, op), instruction)


def test_what_is_read_too_early_is_refused():
    image = small()
    last = int(np.flatnonzero(field(image.words[:, 0], Field.OP) == Op.ENCODE)[-1])
    entry = int(field(image.words[last, 0], Field.DESTINATION))
    words = np.insert(image.words, last + 3, word(Op.GATE, a=entry, b=entry), axis=0)
    with pytest.raises(
        FormatError,
        match=rf"^Step {last + 3} reads entry {entry}, which is not written 4 steps before it$",
    ):
        dataclasses.replace(image, words=words)


def test_the_command_line(tmp_path, capsys):
    net, model = REGRESSION[-2], tmp_path / "model.bin"
    assert main(["engine", "compile", str(net), "-o", str(model)]) == 0
    assert "utilisation" in capsys.readouterr().out
    assert main(["engine", "info", str(model), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lanes"] == 1
    assert main(["engine", "run", str(model), "--json"]) == 0
    accuracy = json.loads(capsys.readouterr().out)["accuracy"]
    assert main(["eval", str(net), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == accuracy
    model.write_bytes(model.read_bytes()[:99])
    expected = f"'{model}': The model ends within its program"
    assert fails(capsys, "engine", "run", model) == expected

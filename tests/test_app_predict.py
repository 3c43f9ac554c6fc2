import csv
import io
import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from circuits import monotone_netlist, random_netlist

import trilut
from trilut import Encoder, Feature
from trilut.app.predict import predict_file
from trilut.cli import main
from trilut.errors import DataError, NetlistError


@pytest.fixture(scope="module")
def net():
    """Return a circuit that reads the columns mass, colour and wet."""
    features = (
        Feature("mass", 8, scale=10.0),
        Feature("colour=red", 1),
        Feature("colour=blue", 1),
        Feature("wet=yes", 1),
    )
    categories = {"colour": ("blue", "green", "red"), "wet": ("no", "yes")}
    encoder = Encoder(
        features, [0, 0, 1, 2, 3], [5, 90, 1, 1, 1], [9, 95, 1, 1, 1], categories=categories
    )
    plain = random_netlist(3, num_inputs=5, num_gates=20, num_outputs=9, num_classes=3)
    return replace(plain, encoder=encoder)


@pytest.fixture(scope="module")
def sure_net(net):
    """Return a monotone circuit that reads the same, with a margin for prediction sets."""
    plain = monotone_netlist(30, num_inputs=5, num_gates=20, num_outputs=9, num_classes=3)
    return replace(plain, encoder=net.encoder, head=replace(plain.head, set_margin=1))


def samples(number, seed=0):
    """Return rows of a table with its columns in another order, and what the circuit reads."""
    generator = np.random.default_rng(seed)
    cells, x = [], []
    for _ in range(number):
        colour = str(generator.choice(["red", "green", "blue", "mauve", ""]))
        wet = str(generator.choice(["yes", "no", "?"]))
        mass = float(np.round(generator.uniform(0, 20), 2))
        is_lost = bool(generator.random() < 0.1)
        cells.append([wet, "anything", "" if is_lost else mass, colour])
        of_colour = [
            float(colour == each) if colour in ("red", "green", "blue") else np.nan
            for each in ("red", "blue")
        ]
        x.append(
            [np.nan if is_lost else mass, *of_colour, np.nan if wet == "?" else float(wet == "yes")]
        )
    return cells, np.array(x)


def write(path, cells):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["wet", "note", "mass", "colour"], *cells])
    return path


def expected(net, x):
    decisions = net.head.decide(net.head.scores(net.evaluate(net.encoder.encode(x))))
    return [
        [net.head.classes[chosen], str(margin), str(int(unknown)), *map(str, scores)]
        for chosen, margin, unknown, scores in zip(
            decisions.chosen, decisions.margin, decisions.unknown, decisions.scores, strict=True
        )
    ]


def test_answers_are_those_of_the_reference(net, tmp_path, monkeypatch):
    # Many small blocks: what the first one holds must not matter to the others.
    monkeypatch.setattr("trilut.data.tables._BLOCK_CELLS", 64)
    cells, x = samples(500)
    done = predict_file(net, write(tmp_path / "new.csv", cells), tmp_path / "answers.csv")
    header, *answers = csv.reader((tmp_path / "answers.csv").read_text().splitlines())
    assert header == [
        "class",
        "margin",
        "unknown",
        "score class 0",
        "score class 1",
        "score class 2",
    ]
    assert answers == expected(net, x)
    assert (done.rows, done.unknown) == (500, sum(int(row[2]) for row in answers))


def test_what_is_certain_and_the_set_stand_beside_the_answer(sure_net, tmp_path, capsys):
    paths = [str(tmp_path / name) for name in ("net.trilut", "new.csv", "out.csv")]
    trilut.save(sure_net, paths[0])
    cells, x = samples(300)
    write(tmp_path / "new.csv", cells)
    assert main(["predict", *paths[:2], "-o", paths[2], "--certain", "--json"]) == 0
    decisions = sure_net.classify(sure_net.encoder.encode(x), certain=True)
    classes = sure_net.head.classes
    sets = [
        "; ".join(name for name, is_member in zip(classes, row, strict=True) if is_member)
        for row in decisions.members
    ]
    assert 0 < decisions.certain.sum() < 300
    assert len(set(sets)) > 3
    header, *answers = csv.reader((tmp_path / "out.csv").read_text().splitlines())
    scores = [f"score {name}" for name in classes]
    assert header == ["class", "margin", "unknown", "certain", "set", *scores]
    assert answers == [
        [*row[:3], str(int(certain)), members, *row[3:]]
        for row, certain, members in zip(
            expected(sure_net, x), decisions.certain, sets, strict=True
        )
    ]
    assert json.loads(capsys.readouterr().out) == {
        "rows": 300,
        "unknown": int(decisions.unknown.sum()),
        "certain": int(decisions.certain.sum()),
    }
    assert main(["predict", *paths[:2]]) == 0
    assert capsys.readouterr().out.splitlines()[0] == ",".join(
        ["class", "margin", "unknown", "set", *scores]
    )


def test_other_circuits_cannot_say_what_is_certain(net, tmp_path):
    # Said before the table is read, and nothing is written.
    with pytest.raises(
        NetlistError,
        match=r"^Netlist 'net' has 20 gates of 20 that are not information-monotone, gate 0 first, "
        "so nothing in it can be certain$",
    ):
        predict_file(net, tmp_path / "none.csv", tmp_path / "answers.csv", certain=True)
    assert list(tmp_path.iterdir()) == []


def test_command_from_stdin_to_stdout(net, tmp_path, capsys, monkeypatch):
    trilut.save(net, tmp_path / "net.trilut")
    cells, x = samples(20)
    content = write(tmp_path / "new.csv", cells).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
    assert main(["predict", str(tmp_path / "net.trilut"), "-"]) == 0
    assert list(csv.reader(capsys.readouterr().out.splitlines()))[1:] == expected(net, x)
    assert main(["predict", str(tmp_path / "net.trilut"), "-", "--json"]) == 1
    assert capsys.readouterr().err == (
        "trilut: error: Answers on stdout are a table; with --json, name -o OUT.csv\n"
    )
    paths = [str(tmp_path / name) for name in ("net.trilut", "new.csv", "out.csv")]
    monkeypatch.chdir(tmp_path)
    assert main(["predict", *paths[:2], "-o", "-"]) == 0
    assert list(csv.reader(capsys.readouterr().out.splitlines()))[1:] == expected(net, x)
    assert not (tmp_path / "-").exists()
    assert main(["predict", *paths[:2], "-o", paths[2], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 20


def test_nothing_on_stdout_for_a_file_that_is_refused(net, tmp_path, capsys):
    trilut.save(net, tmp_path / "net.trilut")
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    assert main(["predict", str(tmp_path / "net.trilut"), str(empty)]) == 1
    assert capsys.readouterr() == (
        "",
        f"trilut: error: {str(empty)!r} is empty, expected a header and samples\n",
    )


def test_features_that_somebody_has_prepared(net, tmp_path):
    path = tmp_path / "bits.csv"
    path.write_text("mass,colour=blue,colour=red,wet=yes\n1.5,0,1,\n12,,,0\n")
    predict_file(net, path, tmp_path / "answers.csv")
    x = np.array([[1.5, 1, 0, np.nan], [12, np.nan, np.nan, 0]])
    assert list(csv.reader((tmp_path / "answers.csv").read_text().splitlines()))[1:] == expected(
        net, x
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "mass,wet\n1,yes\n",
            "NAME has no column 'colour', expected one of 'mass', 'wet'",
        ),
        (
            "mass,wet,colour\n1,yes,red\nheavy,no,red\n",
            "Line 3 of NAME has 'heavy' in the column 'mass', "
            "expected a finite number, or nothing if it is missing",
        ),
        ("", "NAME is empty, expected a header and samples"),
    ],
)
def test_wrong_file_leaves_nothing(net, tmp_path, text, message):
    path = tmp_path / "new.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=f"^{re.escape(message.replace('NAME', repr(str(path))))}$"):
        predict_file(net, path, tmp_path / "answers.csv")
    assert [each.name for each in tmp_path.iterdir()] == ["new.csv"]


def test_header_alone(net, tmp_path):
    done = predict_file(net, write(tmp_path / "new.csv", []), tmp_path / "answers.csv")
    assert done.rows == 0
    assert (tmp_path / "answers.csv").read_text().count("\n") == 1


def test_netlist_that_cannot_classify(tmp_path):
    plain = random_netlist(0, num_inputs=3, num_gates=4, num_outputs=3)
    with pytest.raises(
        NetlistError,
        match=r"^Netlist 'net' has no encoder or no head, so it cannot classify samples$",
    ):
        predict_file(plain, tmp_path / "new.csv")

import gzip
import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from circuits import random_nodes
from hypothesis import given
from hypothesis import strategies as st

from trilut import Encoder, Feature, Head, Netlist
from trilut.circuit.format import digest, dumps, load, loads, save
from trilut.circuit.limits import MAX_BITS, MAX_INPUTS, MAX_INTEGER
from trilut.errors import FormatError, NetlistError

SCHEMA = json.loads(files("trilut.circuit").joinpath("netlist.schema.json").read_text())
NASTY = 'a "quoted" \\ back; slash\'\n`endmodule` <script> // */ é'


def example(name="example"):
    return Netlist.of_gates(
        num_inputs=3,
        table=np.tile([-1, 0, 1], (2, 3)),
        a=[0, 1],
        b=[1, 3],
        outputs=[3, 4, 2],
        encoder=Encoder(
            (Feature("x", 8, scale=0.1, offset=-3.5), Feature(NASTY, 4, signed=True)),
            [0, 0, 1],
            [1, 2, -3],
            [1, 5, 4],
        ),
        head=Head(("no", NASTY), (1, 2), tau=2.5, abstain_margin=2),
        name=name,
        provenance={"recipe": "hard", "seed": 0},
    )


@st.composite
def netlists(draw):
    valence = draw(st.sampled_from([2, 3]))
    num_inputs = draw(st.integers(1, 5))
    num_gates = draw(st.integers(0, 8))
    values = [-1, 1] if valence == 2 else [-1, 0, 1]
    table = [[draw(st.sampled_from(values)) for _ in range(valence**2)] for _ in range(num_gates)]
    sources = [
        [draw(st.integers(0, num_inputs + gate - 1)) for gate in range(num_gates)] for _ in "ab"
    ]
    outputs = draw(st.lists(st.integers(0, num_inputs + num_gates - 1), min_size=1, max_size=4))
    table = np.array(table, dtype=np.int8).reshape(num_gates, valence**2)
    return Netlist.of_gates(
        num_inputs, table, *sources, outputs, valence=valence, name=draw(st.text())
    )


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_nodes_round_trip(seed, scores):
    settings = {"num_inputs": 6, "num_gates": 30, "num_outputs": 8, "num_classes": 3}
    net = random_nodes(seed, **settings, scores=scores, with_encoder=True)
    text = dumps(net)
    jsonschema.validate(json.loads(text), SCHEMA)
    again = loads(text)
    assert dumps(again) == text
    assert json.loads(text)["version"] == 3
    trits = net.encoder.encode(np.random.default_rng(seed).normal(0, 20, (50, 3)))
    assert (again.classify(trits).scores == net.classify(trits).scores).all()


def nodes_document():
    return {
        "format": "trilut-netlist",
        "version": 3,
        "name": "example",
        "kinds": "bbtbts",
        "num_inputs": 3,
        "encoder": None,
        "nodes": {
            "sources": [[0, 1], [2, 3], [0]],
            "table": ["-++-", "-+0+-+", [-3, 2]],
        },
        "outputs": [4, 5],
        "head": {
            "classes": ["a", "b"],
            "group_sizes": [1, 1],
            "tau": 1.0,
            "abstain_margin": 1,
            "limit": 3,
        },
        "provenance": {},
    }


def test_nodes_as_they_are_documented():
    net = loads(json.dumps(nodes_document()))
    assert json.loads(dumps(net)) == nodes_document()
    assert net.evaluate([[1, -1, 0]]).tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["kinds"], "bbtbtx", "'kinds' has the letter 'x', expected b, t, s"),
        (["kinds"], "bbtbt", "'kinds' has 5 letters, expected 6"),
        (["kinds"], ["b"] * 6, """'kinds' is ["b", "b", "b", "b", "b", "b"], expected a string"""),
        (["nodes", "sources"], [[0]], "'kinds' has 6 letters, expected 4"),
        (["nodes", "table"], ["-+"], "'nodes' has 3 sources but 1 tables"),
        (["nodes", "table", 0], "-++", "'nodes.table[0]' has 3 rows, expected 4"),
        (["nodes", "table", 0], "-++-0", "'nodes.table[0]' has 5 rows, expected 4"),
        (["nodes", "table", 0], "-" * 65, "'nodes.table[0]' has 65 rows, expected 2…64"),
        (
            ["nodes", "table", 0],
            [1, 1, -1, 1],
            "'nodes.table[0]' is [1, 1, -1, 1], expected a string",
        ),
        (["nodes", "table", 2], "-+", "'nodes.table[2]' is \"-+\", expected an array"),
        (["nodes", "table", 2], [True, 2], "'nodes.table[2]' is [true, 2], expected -8…7"),
        (["nodes", "table", 2], [[1], 2], "'nodes.table[2]' is [[1], 2], expected -8…7"),
        (["nodes", "sources", 1], [2, True], "'nodes.sources[1]' is [2, true], expected 1…6 nets"),
        (["nodes", "sources", 1], [2, [1]], "'nodes.sources[1]' is [2, [1]], expected 1…6 nets"),
        (["nodes", "sources", 1], 2, "'nodes.sources[1]' is 2, expected an array"),
        (["gates"], {}, "Netlist has both 'gates' and 'nodes', expected one of them"),
        (["nodes", "sources", 1], [], "'nodes.sources[1]' is [], expected 1…6 nets"),
        (["nodes", "sources", 1], [2, -1], "'nodes.sources[1]' is [2, -1], expected 1…6 nets"),
        (
            ["nodes", "table", 0],
            "-+1-",
            "'nodes.table[0]' is \"-+1-\", expected the characters -, 0 and +",
        ),
        (["nodes", "table", 2], [-9, 2], "'nodes.table[2]' is [-9, 2], expected -8…7"),
        (["nodes", "table", 2], 5, "'nodes.table[2]' is 5, expected an array"),
        (["head", "limit"], 9, "'head.limit' is 9, expected 1…8"),
        (["version"], 2, "'gates' is missing"),
    ],
)
def test_wrong_nodes(path, value, message):
    document = nodes_document()
    inside = document
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    if path == ["version"]:
        document["valence"] = 3
    with pytest.raises(FormatError) as caught:
        loads(json.dumps(document))
    assert str(caught.value) == message


@given(netlists())
def test_round_trip(netlist):
    again = loads(dumps(netlist))
    assert dumps(again) == dumps(netlist)
    assert np.array_equal(again.table, netlist.table)
    jsonschema.validate(json.loads(dumps(netlist)), SCHEMA)


@pytest.mark.parametrize("name", ["net.trilut", "net.trilut.gz"])
def test_file_round_trip(tmp_path, name):
    save(example(), tmp_path / name)
    assert dumps(load(tmp_path / name)) == dumps(example())
    save(example(), tmp_path / f"again-{name}")
    assert (tmp_path / name).read_bytes() == (tmp_path / f"again-{name}").read_bytes()


def test_compressed_by_name_only_when_it_ends_in_gz(tmp_path):
    save(example(), tmp_path / "net.trilut.gz")
    (tmp_path / "renamed.trilut").write_bytes((tmp_path / "net.trilut.gz").read_bytes())
    assert dumps(load(tmp_path / "renamed.trilut")) == dumps(example())


def test_example_fits_the_schema():
    jsonschema.validate(json.loads(dumps(example())), SCHEMA)


def test_schema_has_the_bounds_of_the_reader():
    parts = SCHEMA["$defs"]
    head, feature = parts["head"]["properties"], parts["encoder"]["properties"]["features"]["items"]
    assert SCHEMA["properties"]["num_inputs"]["maximum"] == MAX_INPUTS
    assert feature["properties"]["bits"]["maximum"] == MAX_BITS
    for bounded in (
        parts["nets"]["items"],
        parts["thresholds"]["items"],
        head["group_sizes"]["items"],
        head["abstain_margin"],
    ):
        assert bounded["maximum"] == MAX_INTEGER
    assert parts["thresholds"]["items"]["minimum"] == -MAX_INTEGER


def test_format_text_is_stable(golden):
    golden("example.trilut", dumps(example()))


def test_documented_example_loads():
    page = (Path(__file__).parent.parent / "docs" / "netlist-format.md").read_text()
    text = page.split("```json\n")[1].split("```")[0]
    assert loads(text).evaluate([[1, 1], [1, 0], [-1, 0]]).tolist() == [[1], [0], [-1]]


def test_digest_follows_content():
    assert digest(example()) == digest(example())
    assert digest(example()) != digest(example(name="other"))


def changed(path, value):
    document = json.loads(dumps(example()))
    target = document
    for key in path[:-1]:
        target = target[key]
    if value is None:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["valence"], 4, "'valence' is 4, expected 2 or 3"),
        (["valence"], None, "'valence' is missing"),
        (["num_inputs"], True, "'num_inputs' is true, expected an integer"),
        (["num_inputs"], 1e9, "'num_inputs' is 1000000000.0, expected an integer"),
        (["name"], 5, "'name' is 5, expected a string"),
        (["gates"], [], "'gates' is [], expected an object"),
        (["gates", "id"], [19683, 0], "'gates.id[0]' is 19683, expected 0…19682"),
        (["gates", "id"], [0, "x"], "'gates.id[1]' is \"x\", expected an integer"),
        (["gates", "a"], None, "'gates.a' is missing"),
        (
            ["gates", "b"],
            [1, 1 << 70],
            f"'gates.b[1]' is {1 << 70}, expected {-MAX_INTEGER}…{MAX_INTEGER}",
        ),
        (
            ["encoder", "low"],
            [-(1 << 62), 0, 0],
            f"'encoder.low[0]' is {-(1 << 62)}, expected {-MAX_INTEGER}…{MAX_INTEGER}",
        ),
        (["num_inputs"], 1 << 31, f"'num_inputs' is {1 << 31}, expected 1…{MAX_INPUTS}"),
        (
            ["head", "abstain_margin"],
            1 << 63,
            f"'head.abstain_margin' is {1 << 63}, expected 1…{MAX_INTEGER}",
        ),
        (
            ["head", "group_sizes"],
            [1, 1 << 62],
            f"'head.group_sizes[1]' is {1 << 62}, expected {-MAX_INTEGER}…{MAX_INTEGER}",
        ),
        (
            ["encoder", "features", 1, "bits"],
            10**1000,
            f"'encoder.features[1].bits' is 1{'0' * 36}..., expected 1…32",
        ),
        (["outputs"], "all", "'outputs' is \"all\", expected an array"),
        (["head"], 3, "'head' is 3, expected an object or null"),
        (
            ["head", "tau"],
            "x" * 99,
            f"'head.tau' is \"{'x' * 36}..., expected a number or an integer",
        ),
        (["head", "classes"], ["a", 1], "'head.classes[1]' is 1, expected a string"),
        (["encoder", "features", 1, "bits"], None, "'encoder.features[1].bits' is missing"),
        (
            ["encoder", "features", 0, "signed"],
            1,
            "'encoder.features[0].signed' is 1, expected true or false",
        ),
        (["provenance"], 1, "'provenance' is 1, expected an object"),
        (["version"], 5, "Netlist format version 5 is not supported, expected one of 1, 2, 3, 4"),
        (
            ["version"],
            True,
            "Netlist format version True is not supported, expected one of 1, 2, 3, 4",
        ),
        (["version"], [], "Netlist format version [] is not supported, expected one of 1, 2, 3, 4"),
        (
            ["format"],
            "svg",
            'Not a netlist: expected a JSON object with "format": "trilut-netlist"',
        ),
    ],
)
def test_wrong_member(path, value, message):
    with pytest.raises(FormatError) as caught:
        loads(changed(path, value))
    assert str(caught.value) == message


def test_gate_reads_later_net_in_file():
    with pytest.raises(NetlistError) as caught:
        loads(changed(["gates", "a"], [4, 1]))
    message = "Gate 0 input 'a' reads net 4, but only nets below 3 are driven before it"
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Not JSON: Expecting value at line 1 column 1"),
        ("{", "Not JSON: Expecting property name enclosed in double quotes at line 1 column 2"),
        ('{"a": NaN}', "Not JSON: NaN is not a number"),
        ("[" * 100_000, "Not JSON: nested too deeply"),
        (f'{{"a": {"9" * 5000}}}', "An integer has thousands of digits, too many to read"),
        ('{"a": {"b": [-1e999]}}', "-1e999 is too large for a number"),
        ('{"name": "\\ud800"}', r"Not Unicode: '\ud800' is half of a character"),
        ('{"name": "\udc00"}', r"Not Unicode: '\udc00' is half of a character"),
        (
            '{"format": "trilut-netlist", "gates": {"a": [0], "b": [1], "a": [1]}}',
            'An object has the key "a" more than once',
        ),
        ('{"name": ' + "[" * 200 + "]" * 200 + "}", "Not JSON: nested too deeply"),
        ("[" + "[]," * (1 << 23), "Not a netlist: more than 16777216 values"),
        ("3", 'Not a netlist: expected a JSON object with "format": "trilut-netlist"'),
    ],
)
def test_not_a_netlist(text, message):
    with pytest.raises(FormatError) as caught:
        loads(text)
    assert str(caught.value) == message


def test_both_halves_of_a_character_are_one():
    text = dumps(example(name="😀"))
    assert r"\ud83d\ude00" in text
    assert loads(text).name == "😀"


def test_every_truncation_is_refused(tmp_path):
    text = dumps(example()).rstrip()
    for length in range(len(text)):
        with pytest.raises(FormatError):
            loads(text[:length])


def test_error_names_the_file(tmp_path):
    path = tmp_path / "net.trilut"
    path.write_text(changed(["valence"], 4))
    with pytest.raises(FormatError) as caught:
        load(path)
    assert str(caught.value) == f"{str(path)!r}: 'valence' is 4, expected 2 or 3"


def test_file_does_not_exist(tmp_path):
    path = tmp_path / "net.trilut"
    with pytest.raises(FormatError) as caught:
        load(path)
    assert str(caught.value) == f"Cannot read {str(path)!r}: No such file or directory"


def test_truncated_gzip(tmp_path):
    path = tmp_path / "net.trilut.gz"
    path.write_bytes(gzip.compress(dumps(example()).encode())[:-20])
    with pytest.raises(FormatError, match=r"^'.*net\.trilut\.gz' is not a complete gzip file: .+$"):
        load(path)


def test_not_text(tmp_path):
    path = tmp_path / "net.trilut"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match=r"^'.*net\.trilut' is not UTF-8 text at byte 0$"):
        load(path)


def test_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "net.trilut"
    save(example(), path)
    before = path.read_bytes()
    unwritable = Netlist.of_gates(1, np.empty((0, 9)), [], [], [0], provenance={"x": object()})
    with pytest.raises(TypeError):
        save(unwritable, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("bound", ["MAX_BYTES", "MAX_VALUES"])
def test_a_netlist_that_no_reader_would_take_is_not_written(tmp_path, monkeypatch, bound):
    monkeypatch.setattr(f"trilut.circuit.format.{bound}", 40)
    with pytest.raises(FormatError) as caught:
        save(example(), tmp_path / "net.trilut.gz")
    path = str(tmp_path / "net.trilut.gz")
    assert str(caught.value) == f"Cannot write {path!r}: the netlist is larger than a reader takes"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        (["name"], "the netlist"),
        (["encoder", "features", 1, "name"], "a feature"),
        (["head", "classes", 0], "a class"),
    ],
)
def test_longest_name(path, owner):
    loads(changed(path, "n" * 65_536))
    with pytest.raises(NetlistError) as caught:
        loads(changed(path, "n" * 65_537))
    assert str(caught.value) == f"The name of {owner} has 65537 characters, expected at most 65536"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(changed(path, "n" * 65_537)), SCHEMA)


def test_write_to_missing_directory(tmp_path):
    path = tmp_path / "nowhere" / "net.trilut"
    with pytest.raises(FormatError) as caught:
        save(example(), path)
    assert str(caught.value) == f"Cannot write {str(path)!r}: No such file or directory"

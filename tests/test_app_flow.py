import dataclasses
import json

import numpy as np
import pytest
from circuits import random_netlist

import trilut
from trilut.app.flow import run_flow
from trilut.cli import main
from trilut.data import Split
from trilut.hdl import write_verilog
from trilut.measure.evaluation import Accuracy, evaluate_split
from trilut.report.run import make_report, write_report
from trilut.report.synthesis import make_section
from trilut.sim import stimulus, verify_rtl
from trilut.synth import Cells, Hop, SynthesisResult, Timing, Utilization
from trilut.synth.design import Synthesis
from trilut.verify import Level, LevelResult, Outcome, Verification

NASTY = '<script>alert("x")</script> & \' \\ ; \n {{ 7 * 7 }} {% raw %} $x^2$ ]]>'


@pytest.fixture(scope="module")
def flow(tmp_path_factory):
    output = tmp_path_factory.mktemp("flow") / "a directory; with $(odd) 'name'"
    return run_flow("moons", output), output


@pytest.mark.sim
@pytest.mark.synth
def test_flow_is_within_a_point_of_the_ceiling(flow):
    accuracy = flow[0].document["accuracy"]
    assert accuracy["evaluation"]["ceiling"] - accuracy["hardened"] <= 0.01
    assert accuracy["soft"] == accuracy["hardened"]


@pytest.mark.sim
@pytest.mark.synth
def test_flow_checks_the_rtl_without_a_mismatch(flow):
    verification = flow[0].document["verification"]
    assert flow[0].passed
    rtl, formal = verification["levels"]
    assert (rtl["level"], rtl["outcome"]) == ("rtl", "passed")
    assert rtl["details"]["num_mismatches"] == 0
    assert sum(rtl["details"]["num_checked"].values()) > 10_000
    assert (formal["level"], formal["outcome"]) == ("formal", "passed")
    assert verification["coverage"]["share"] == 1.0


@pytest.mark.sim
@pytest.mark.synth
def test_flow_places_and_routes(flow):
    synthesis = flow[0].document["synthesis"]
    assert synthesis["lut4"] > 0
    assert synthesis["ff"] > 0
    assert synthesis["fmax_mhz"] > 50
    assert {"encoder", "layer_1", "groupsum", "argmax", "control"} <= set(synthesis["blocks"])


@pytest.mark.sim
@pytest.mark.synth
def test_flow_writes_what_it_says(flow):
    report, output = flow
    made = {path.name for path in output.iterdir()}
    assert made == {
        "net.trilut",
        "metrics.jsonl",
        "trilut_top.v",
        "trilut_top.json",
        "logs",
        "report.json",
        "report.html",
        "explorer.html",
    }
    assert json.loads((output / "report.json").read_text()) == report.document
    page = (output / "report.html").read_text()
    assert page.count("<svg") == 14
    for value in report.summary:
        assert value in page
    netlist = trilut.load(output / "net.trilut")
    assert trilut.digest(netlist) == report.document["netlist"]["sha256"]


@pytest.mark.sim
@pytest.mark.synth
def test_netlist_of_the_flow_evaluates_to_the_same(flow, capsys):
    report, output = flow
    assert main(["eval", str(output / "net.trilut"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == report.document["accuracy"]["evaluation"]


def observable_mutation(netlist, trits):
    """Return the netlist with one entry of one table changed so that some decision changes."""
    rng = np.random.default_rng(0)
    expected = netlist.evaluate(trits)
    while True:
        gate, row = rng.integers(netlist.num_gates), rng.integers(9)
        table = netlist.table.copy()
        table[gate, row] = (table[gate, row] + 2) % 3 - 1
        mutant = dataclasses.replace(netlist, table=table)
        if not np.array_equal(mutant.evaluate(trits), expected):
            return mutant


@pytest.mark.synth
@pytest.mark.parametrize("formal", [Outcome.UNPROVEN, Outcome.FAILED])
def test_flow_fails_unless_the_proof_passes(tmp_path, monkeypatch, capsys, formal):
    proof = LevelResult(Level.FORMAL, formal, "verdict", 0.0)

    def verify_design(design, **settings):
        # The very file that the flow has written.
        assert design.path == tmp_path / "trilut_top.v"
        return Verification((proof,))

    monkeypatch.setattr("trilut.verify.levels.verify_design", verify_design)
    quick = ["--layers", "8,8,4", "--steps", "20", "--set", "evaluate_every=20"]
    assert main(["flow", "moons", "-o", str(tmp_path), *quick]) == 1
    assert f"{formal.value}: verdict" in capsys.readouterr().out


@pytest.mark.sim
def test_corrupted_gate_is_caught(tmp_path):
    netlist = random_netlist(
        5, num_inputs=6, num_gates=30, num_outputs=8, num_classes=2, with_encoder=True
    )
    vectors = stimulus(netlist, None, np.random.default_rng(0), num_random=500)
    trits = netlist.encoder.trits(vectors["random"])
    design = write_verilog(observable_mutation(netlist, trits), tmp_path)
    result = verify_rtl(netlist, design, vectors, out=tmp_path / "work")
    assert not result.passed
    assert result.num_mismatches > 0
    assert not result.num_violations
    first = result.mismatches[0]
    assert first.expected != first.got


def nasty_section(netlist, directory):
    hop = Hop("logic", 1.0, NASTY, NASTY, NASTY)
    result = SynthesisResult(
        target=NASTY,
        device=NASTY,
        cells=Cells(lut4=1, ff=1, lut4_equivalents=1),
        blocks={NASTY: Cells(lut4=1, lut4_equivalents=1)},
        utilization={NASTY: Utilization(1, 2)},
        timing=Timing(100.0, 100.0, (hop,)),
        port_registers=0,
        tools={NASTY: NASTY},
        seconds={NASTY: 1.0},
        title=NASTY,
    )
    return make_section(Synthesis(write_verilog(netlist, directory), result))


def test_names_cannot_break_the_page(tmp_path):
    netlist = random_netlist(
        0,
        num_inputs=4,
        num_gates=12,
        num_outputs=4,
        num_classes=2,
        with_encoder=True,
        name=NASTY,
    )
    features = tuple(dataclasses.replace(f, name=NASTY) for f in netlist.encoder.features)
    netlist = dataclasses.replace(
        netlist,
        encoder=dataclasses.replace(netlist.encoder, features=features),
        head=dataclasses.replace(netlist.head, classes=(NASTY, "b")),
        provenance={NASTY: NASTY},
    )
    rng = np.random.default_rng(0)
    split = Split(rng.integers(-4, 8, (50, 2)).astype(float), rng.integers(0, 2, 50))
    details = {"num_checked": {NASTY: 1}, "num_mismatches": 0, "simulator": NASTY}
    report = make_report(
        netlist,
        accuracy=Accuracy(0.5, evaluate_split(netlist, split), 0.5, None, 0.5),
        history=[{"step": 1, "loss": 1.0, "accuracy": 0.5}],
        verification={
            "passed": True,
            "levels": [
                {"level": "rtl", "outcome": "passed", "verdict": NASTY, "details": details},
                {"level": "formal", "outcome": "passed", "verdict": NASTY, "details": {}},
            ],
            "coverage": {},
        },
        synthesis=nasty_section(netlist, tmp_path),
    )
    write_report(report, netlist, split, tmp_path)
    page = (tmp_path / "report.html").read_text()
    # The page's own script, which has nothing of the names in it.
    assert page.count("<script") == 1
    assert NASTY not in page
    assert "{{ 7 * 7 }}" in page
    assert json.loads((tmp_path / "report.json").read_text())["netlist"]["name"] == NASTY

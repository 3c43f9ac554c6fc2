# amaranth: UnusedElaboratable=no
import copy
import dataclasses
import json
from itertools import pairwise
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from circuits import random_netlist
from hypothesis import given, settings
from hypothesis import strategies as st

from trilut import save
from trilut.circuit.interface import Axi
from trilut.circuit.optimize import optimize
from trilut.cli import main
from trilut.errors import FormatError
from trilut.hdl import Classifier, Design, HardwareOptions, InputKind
from trilut.report.compare import compare_reports
from trilut.report.synthesis import (
    SynthesisReport,
    make_section,
    make_synthesis_report,
    read_synthesis_report,
    write_synthesis_report,
)
from trilut.synth import Asic, Cells, Energy, Hop, SynthesisResult, Timing, Utilization
from trilut.synth.design import Synthesis
from trilut.synth.path import PathStep, name_path, path_text
from trilut.synth.signals import Signals

SCHEMA = json.loads(
    (
        Path(__file__).parent.parent / "src" / "trilut" / "report" / "synthesis.schema.json"
    ).read_text()
)

# Of a packet with the features of some_netlist, in bytes.
BEATS = 3


def some_netlist(seed=0, **changes):
    settings = {
        "num_inputs": 8,
        "num_gates": 40,
        "num_outputs": 12,
        "num_classes": 3,
        "with_encoder": True,
        "name": "net <b>",
    }
    return random_netlist(seed, **(settings | changes))


def some_design(netlist, options=None, *, axi=None):
    options = (options or HardwareOptions()).for_netlist(netlist)
    circuit = optimize(netlist).netlist
    classifier = Classifier(circuit, options)
    interface = dataclasses.replace(classifier.interface, axi=axi)
    return Design(
        Path("top.v"),
        "top",
        interface,
        options=options,
        netlist=netlist,
        circuit=circuit,
        plans=classifier.plans,
        classifier=classifier,
    )


def some_result(**changes):
    path = (
        Hop("clk-to-q", 0.5, "encoder", "ff_1", ""),
        Hop("routing", 1.0, "layer_1", "lut_1", "layer_1.i[3]"),
        Hop("logic", 0.25, "layer_1", "lut_1", ""),
        Hop("routing", 2.0, "groupsum", "ff_2", "x"),
        Hop("setup", 0.25, "groupsum", "ff_2", ""),
    )
    values = {
        "target": "ecp5",
        "device": "LFE5U-25F",
        "cells": Cells(lut4=60, ff=30, carry=5, lut4_equivalents=70),
        "blocks": {
            "encoder": Cells(lut4=20, lut4_equivalents=20),
            "layer_1": Cells(lut4=40, lut4_equivalents=40),
            "layer_2": Cells(lut4=20, ff=30, lut4_equivalents=20),
        },
        "utilization": {"lut4": Utilization(75, 24_000)},
        "timing": Timing(250.0, 200.0, path, seeds={1: 240.0, 2: 250.0, 3: 275.0}),
        "port_registers": 9,
        "tools": {"yosys": "0.70"},
        "seconds": {"synthesis": 1.5},
    }
    return SynthesisResult(**(values | changes))


def some_report(*, netlist=None, input_kind=InputKind.FEATURES, **changes):
    netlist = netlist or some_netlist()
    design = some_design(netlist, HardwareOptions(input_kind=input_kind))
    return make_synthesis_report(Synthesis(design, some_result(**changes)))


ASIC = {
    "target": "nangate45",
    "cells": Cells(gate=90, ff=30, area=120.5, gate_equivalents=151.0),
    "blocks": {"layer_1": Cells(gate=90, area=100.0)},
    "utilization": {},
    "timing": Timing(500.0, 200.0, (), method="static, no wires"),
    "asic": Asic(
        library="lib",
        is_invented=True,
        area_unit="um2",
        nand2_area=0.798,
        cell_counts={"NAND2": 80, "INV": 10},
        cell_areas={"NAND2": 63.84, "INV": 5.0},
        leakage_nw=500.0,
        energy=Energy(1.5, 0.5, 1000, 0.2, "random vectors"),
    ),
}
LUT6 = {"cells": Cells(lut6=30, ff=30, lut6_equivalents=34), "timing": None, "levels": 7}
MAPPED_ONLY = {"timing": None, "incomplete": "nextpnr took longer than 5 s; log: 'x.log'"}


def rows(report):
    return dict(report.tables[0].rows)


def test_logic_cells_of_a_part_where_lone_carries_take_some():
    shown = rows(some_report(utilization={"lc": Utilization(1194, 5280)}))
    assert shown["LUT4"].startswith("60 ")
    assert shown["logic cells"] == "1194 placed, 9 registers at the ports included"
    assert shown["of the part"] == "logic cells 1194/5280 (22.61 %)"
    assert "logic cells" not in rows(some_report())


@pytest.mark.parametrize("changes", [{}, ASIC, LUT6, MAPPED_ONLY, {"blocks": {}}])
def test_report_agrees_with_its_schema_and_survives_a_round_trip(changes, tmp_path):
    report = some_report(**changes)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(report.document, SCHEMA)
    write_synthesis_report(report, tmp_path / "made")
    assert {path.name for path in (tmp_path / "made").iterdir()} == {
        "synthesis.json",
        "synthesis.md",
        "synthesis.html",
    }
    assert read_synthesis_report(tmp_path / "made" / "synthesis.json").document == report.document


def test_figures_follow_from_the_result():
    report = some_report()
    cycles = report.section["latency_cycles"]
    assert report.section["figures"] == {
        "area": 70,
        "area_per_neuron": 70 / 40,
        "area_per_neuron_in_layers": 60 / 40,
        "latency_ns": 4.0 * cycles,
        "samples_per_second": 250_000_000,
        "area_delay": 70 * 4.0 * cycles,
        "energy_pj": None,
        "energy_with_wires_pj": None,
    }


def test_asic_energy_includes_leakage_over_a_cycle():
    # 500 nW for 2 ns are 0.001 pJ.
    assert some_report(**ASIC).section["figures"]["energy_pj"] == pytest.approx(2.001)


def test_asic_energy_with_wires():
    energy = dataclasses.replace(ASIC["asic"].energy, wires_pj=0.25)
    asic = dataclasses.replace(ASIC["asic"], energy=energy)
    report = some_report(**ASIC | {"asic": asic})
    assert report.section["figures"]["energy_with_wires_pj"] == pytest.approx(2.251)
    assert rows(report)["energy"] == (
        "2 pJ per sample without wires, 2.25 pJ with them; estimated without clock tree from "
        "1000 vectors (random vectors)"
    )


def test_area_only():
    asic = dataclasses.replace(ASIC["asic"], has_delays=False, energy=None)
    report = some_report(**ASIC | {"asic": asic, "timing": None})
    assert rows(report)["Fmax"] == ("not known: area only, the library has no delays")


def test_asic_energy_of_a_packet_counts_all_its_beats():
    # Features and presence bits in beats of a byte.
    design = some_design(some_netlist(), axi=Axi(8))
    assert design.interface.num_beats == BEATS
    energy = dataclasses.replace(ASIC["asic"].energy, vector_cycles=BEATS)
    result = some_result(**ASIC | {"asic": dataclasses.replace(ASIC["asic"], energy=energy)})
    section = make_section(Synthesis(design, result))
    jsonschema.validate(make_synthesis_report(Synthesis(design, result)).document, SCHEMA)
    assert section["asic"]["energy"]["vector_pj"] == pytest.approx(2 * BEATS)
    assert section["figures"]["energy_pj"] == pytest.approx(2.001 * BEATS)


def test_summary_says_what_is_counted():
    shown = rows(some_report())
    assert shown["LUT4"] == "60 (encoder, GroupSum and argmax included)"
    assert shown["other logic"] == "5 carry (70 LUT4 eq. in all)"
    assert shown["of the part"] == "LUT4 75/24000 (0.31 %)"
    assert shown["Fmax"] == (
        "250.0 MHz, placed and routed; 3 seeds min / median / max 240.0 / 250.0 / 275.0"
    )
    assert shown["conventions"] == (
        "technology FPGA; unit LUT4; encoder in; head in; "
        "counted after mapping, before packing; timing post-route"
    )


def test_summary_without_timing_says_why():
    assert rows(some_report(**MAPPED_ONLY))["Fmax"] == (
        "not known: nextpnr took longer than 5 s; log: 'x.log'"
    )
    mapped = rows(some_report(**LUT6))
    assert mapped["LUT6"] == "30 (encoder, GroupSum and argmax included)"
    assert mapped["Fmax"] == "not known: mapped only, not placed and routed"
    assert mapped["logic levels"] == "7 cells between registers (not timing)"
    assert "throughput" not in mapped


def test_summary_of_an_asic_says_that_values_are_invented():
    shown = rows(some_report(**ASIC))
    assert shown["library"] == "lib, values invented for comparison only"
    assert shown["Fmax"] == "500.0 MHz, static, no wires"
    assert shown["area"] == "120.5 um2 (encoder, GroupSum and argmax included)"


def test_encoder_left_out_is_said():
    shown = rows(some_report(input_kind=InputKind.TRITS))
    assert shown["LUT4"] == "60 (GroupSum and argmax included; no encoder)"


def test_loader_is_said_and_slows_the_samples_down():
    design = some_design(some_netlist(), axi=Axi(8))
    report = make_synthesis_report(Synthesis(design, some_result()))
    jsonschema.validate(json.loads(json.dumps(report.document)), SCHEMA)
    shown = rows(report)
    assert shown["LUT4"] == "60 (loader, encoder, GroupSum and argmax included)"
    assert (
        shown["throughput"]
        == f"{250_000 / BEATS:,.1f} k samples/s, one per {BEATS} cycles, a beat in each"
    )
    comparison = compare_reports([some_report(), report])
    assert comparison.differing == {"loader": ("out", "in")}
    area = next(metric for metric in comparison.metrics if metric.name == "area")
    assert area.ratios == (1.0, None)


def test_report_in_markdown(golden):
    report = some_report()
    document = copy.deepcopy(dict(report.document))
    document |= {"environment": {"machine": "a machine"}, "trilut": "0"}
    golden("synthesis.md", SynthesisReport(document).markdown())


def test_page_needs_no_network_and_escapes_names():
    page = some_report(target="<script>alert(1)</script>").page()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert page.count("<svg") == 3
    assert "src=" not in page
    assert "@import" not in page


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("format"), "'{}' is not a synthesis report, as `trilut synth` writes it"),
        (
            lambda d: d.update(version=2),
            "Synthesis report '{}' has version 2, expected 1",
        ),
        (
            lambda d: d["synthesis"].update(ff=-1),
            "Synthesis report '{}' is damaged at $.synthesis.ff: -1 is less than the minimum of 0",
        ),
    ],
)
def test_wrong_report_file(change, message, tmp_path):
    document = copy.deepcopy(dict(some_report().document))
    change(document)
    path = tmp_path / "r.json"
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError) as caught:
        read_synthesis_report(path)
    assert str(caught.value) == message.format(path)


def test_report_file_that_is_not_json(tmp_path):
    path = tmp_path / "r.json"
    path.write_text("{")
    with pytest.raises(
        FormatError, match=rf"^Synthesis report '{path}' is not JSON: Expecting .*$"
    ):
        read_synthesis_report(path)


def test_comparison_gives_ratios_to_the_first():
    smaller = some_report(cells=Cells(lut4=30, ff=15, lut4_equivalents=35))
    comparison = compare_reports([some_report(), smaller])
    ratios = {metric.name: metric.ratios[1] for metric in comparison.metrics}
    assert comparison.differing == {}
    assert ratios["area"] == 0.5
    assert ratios["FF"] == 0.5
    assert ratios["Fmax, MHz"] == 1.0
    assert ratios["area × latency"] == 0.5


@pytest.mark.parametrize(
    ("other", "differing", "kept"),
    [
        (
            {"input_kind": InputKind.TRITS},
            {"encoder": ("in", "out")},
            {"neurons", "Fmax, MHz", "M samples/s"},
        ),
        (
            LUT6,
            {"unit": ("LUT4", "LUT6"), "timing": ("post-route", "none")},
            {"neurons", "FF", "latency, cycles"},
        ),
        (
            ASIC,
            {
                "technology": ("FPGA", "ASIC, lib"),
                "unit": ("LUT4", "um2"),
                "timing": ("post-route", "static, no wires"),
            },
            {"neurons", "latency, cycles"},
        ),
    ],
)
def test_comparison_gives_no_ratio_across_conventions(other, differing, kept):
    comparison = compare_reports([some_report(), some_report(**other)])
    assert comparison.differing == differing
    with_ratio = {metric.name for metric in comparison.metrics if metric.ratios[1] is not None}
    assert with_ratio == kept
    assert any("CONVENTIONS DIFFER" in note for note in comparison.table.notes)
    area = next(row for row in comparison.table.rows if row[0] == "area")
    assert area[-1].startswith("not comparable: ")


def test_compare_command(tmp_path, capsys):
    for name, kind in (("a", InputKind.FEATURES), ("b", InputKind.TRITS)):
        write_synthesis_report(some_report(input_kind=kind), tmp_path, name=name)
    files = [str(tmp_path / "a.json"), str(tmp_path / "b.json")]
    assert main(["synth", "--compare", *files, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["differing"] == {"encoder": ["in", "out"]}
    assert main(["synth", "--compare", files[0]]) == 1
    assert capsys.readouterr().err == (
        "trilut: error: A comparison needs at least 2 files synthesis.json, not 1\n"
    )


def every_way(netlist, start, end):
    """Return the nets on all ways from one net to another, by walking each of them."""
    if start == end:
        return set()
    if end < netlist.num_inputs:
        return None
    gate = end - netlist.num_inputs
    before = [every_way(netlist, start, int(n)) for n in (netlist.a[gate], netlist.b[gate])]
    found = [way for way in before if way is not None]
    return set().union(*found) | {end} if found else None


@given(seed=st.integers(0, 1000), data=st.data())
@settings(max_examples=30, deadline=None)
def test_path_runs_through_the_neurons_between_its_ends(seed, data):
    netlist = random_netlist(
        seed, num_inputs=5, num_gates=14, num_outputs=6, num_classes=2, with_encoder=True
    )
    classifier = Classifier(netlist, HardwareOptions(pipeline=netlist.depth + 1))
    start = data.draw(st.integers(0, netlist.num_inputs - 1))
    output = data.draw(st.integers(0, len(netlist.outputs) - 1))
    end = int(netlist.outputs[output])
    hops = (
        Hop("clk-to-q", 1.0, "encoder", "a", ""),
        Hop("routing", 1.0, "groupsum", "b", f"layer_1.i[{2 * start}]"),
        Hop("setup", 1.0, "groupsum", "b", f"groupsum.i[{2 * output + 1}]"),
    )
    steps = name_path(hops, classifier)
    expected = every_way(netlist, start, end)
    if not expected:
        assert [step.block for step in steps[:2]] == ["encoder", "groupsum"]
        return
    named = {
        netlist.num_inputs + classifier.plans[int(step.block[6:]) - 1].gates[neuron]
        for step in steps
        if step.block.startswith("layer_")
        for neuron in step.neurons
    }
    assert named == expected
    assert steps[0].signal.startswith(f"trit {start} of ")


def test_path_from_the_control_claims_no_neurons_on_its_way():
    netlist = optimize(some_netlist(3)).netlist
    classifier = Classifier(netlist, HardwareOptions(pipeline=1))
    first = classifier.plans[0]
    place, net = next(
        (place, net) for place, net in enumerate(first.nets_out) if net >= netlist.num_inputs
    )
    hops = (
        Hop("clk-to-q", 1.0, "auto$ff", "a", ""),
        Hop("routing", 1.0, "auto$ff", "b", "control.in_ready"),
        Hop("logic", 1.0, "top", "b", ""),
        Hop("setup", 1.0, "auto$ff", "c", f"layer_1.o[{2 * place}]"),
    )
    neuron = first.gates.index(net - netlist.num_inputs)
    assert name_path(hops, classifier) == (
        PathStep("top", signal="in_ready"),
        PathStep("layer_1", (neuron,)),
    )


def test_path_to_a_register_without_a_name():
    netlist = optimize(some_netlist(3)).netlist
    hops = (
        Hop("clk-to-q", 1.0, "encoder", "a", ""),
        Hop("routing", 1.0, "layer_2", "b", "encoder.o[5]"),
        Hop("setup", 1.0, "layer_2", "c", ""),
    )
    start, end = name_path(hops, Classifier(netlist))
    assert (start.block, start.signal.split(" of ")[0]) == ("encoder", "trit 2")
    assert end == PathStep("layer_2")


def test_input_register_of_the_sums_knows_its_outputs():
    netlist = optimize(some_netlist(3)).netlist
    classifier = Classifier(netlist, HardwareOptions(sums="ecp5"))
    starts = np.cumsum([0, *netlist.head.group_sizes])
    for index, (start, end) in enumerate(pairwise(starts)):
        nets = set(netlist.outputs[start:end].tolist())
        assert classifier.net_of(f"groupsum.class_{index}_input[0]") in nets
    assert classifier.net_of("groupsum.class_0_level_1[0]") is None
    assert classifier.net_of("encoder.o[5]") == 2
    assert classifier.net_of("control.valid") is None


def test_path_in_words():
    steps = [
        PathStep("encoder", signal="trit 3 of 'x'"),
        PathStep("layer_1", (4,)),
        PathStep("layer_2", (1, 2, 3, 9)),
        PathStep("groupsum", signal="class_0_input[2]"),
    ]
    assert path_text(steps) == (
        "encoder trit 3 of 'x' → layer 1 neuron 4 → "
        "layer 2 one of 4 neurons (1, 2, 3, …) → groupsum class_0_input[2]"
    )


def test_signals_go_by_the_names_of_the_design():
    signals = Signals(
        {
            "cells": {
                "lut": {"connections": {"A": [9], "O": [5]}},
                "ff": {"connections": {"D": [5], "Q": [3]}},
            },
            "netnames": {
                "_161_": {"bits": [2, 3]},
                "layer_2.o": {"bits": ["x", 3]},
            },
        }
    )
    assert signals.name("_161_[1]") == "layer_2.o[1]"
    assert signals.name("_161_[0]") == "_161_[0]"
    assert signals.name("elsewhere") == "elsewhere"
    assert signals.register_name("ff") == "layer_2.o[1]"
    assert signals.register_name("lut_LC") == "layer_2.o[1]"
    assert signals.register_name("elsewhere") == ""


@pytest.mark.synth
def test_synth_command_writes_the_report(tmp_path, capsys):
    netlist = some_netlist(num_gates=30)
    save(netlist, tmp_path / "net.trilut")
    out = tmp_path / "out"
    assert main(["synth", str(tmp_path / "net.trilut"), "-o", str(out), "--json"]) == 0
    report = read_synthesis_report(out / "synthesis.json")
    assert json.loads(capsys.readouterr().out) == report.document
    section = report.section
    assert section["figures"]["area"] == section["lut4_equivalents"] > 0
    assert section["fmax_mhz"] > 50
    assert set(section["neurons_built"]) == {
        name for name in section["blocks"] if name.startswith("layer_")
    }
    # The tools' names are understood: the path begins and ends in registers that we know.
    assert section["path"]
    assert "synthesis.html" in {path.name for path in out.iterdir()}

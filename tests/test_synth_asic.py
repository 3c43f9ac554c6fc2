import json
from itertools import islice

import numpy as np
import pytest
from circuits import random_netlist

from trilut.circuit.trit import pack_trits
from trilut.errors import FormatError, ToolError
from trilut.hdl import HardwareOptions, write_logic, write_verilog
from trilut.report.synthesis import result_document
from trilut.synth import SynthesisSettings, load_target, synthesize
from trilut.synth.asic.activity import Simulation, estimate_energy
from trilut.synth.asic.liberty import parse_liberty
from trilut.synth.asic.library import Library
from trilut.synth.asic.sources import load_library
from trilut.synth.asic.sta import slowest_path
from trilut.synth.asic.wires import WireLoad
from trilut.synth.graph import cell_levels, drivers, evaluation_order
from trilut.synth.traffic import Traffic, design_traffic

GENERIC = load_library("generic")
SETUP, CLOCK_TO_Q, NAND2, INV = 0.03, 0.08, 0.015, 0.01
# Of a pin, in pF; and what a pF costs in ns of delay, and of slew.
PIN, RESISTANCE, SLEW = 0.002, 2.0, 2.4


def cell(cell_type, **connections):
    return {
        "type": cell_type,
        "connections": {pin: [bit] for pin, bit in connections.items()},
        "port_directions": {pin: "output" if pin in ("Y", "Q") else "input" for pin in connections},
    }


def chain():
    return {
        "ports": {"clk": {"direction": "input", "bits": [2]}},
        "cells": {
            "first": cell("DFF", C=2, D="0", Q=3),
            "nand": cell("NAND2", A=3, B="1", Y=4),
            "inv": cell("INV", A=4, Y=5),
            "last": cell("DFF", C=2, D=5, Q=6),
        },
    }


def test_delay_of_a_chain_by_hand():
    path = slowest_path(chain(), GENERIC)
    assert [stage.cell for stage in path] == ["first", "nand", "inv", "last"]
    load = PIN * RESISTANCE

    def slew(delay):
        return 0.8 * delay + PIN * SLEW

    expected = [
        CLOCK_TO_Q + 0.2 * 0.01 + load,
        NAND2 + 0.2 * slew(CLOCK_TO_Q) + load,
        INV + 0.2 * slew(NAND2) + load,
        SETUP + (slew(INV) - 0.01) * 0.03 / 0.49,
    ]
    assert [stage.delay for stage in path] == pytest.approx(expected, abs=1e-4)
    assert path[-1].time == pytest.approx(sum(stage.delay for stage in path))


ODD = """
library (odd) {
  lu_table_template (t) { variable_1 : total_output_net_capacitance; index_1 ("0, 10"); }
  cell (DFF) {
    ff (IQ, IQN) { clocked_on : "C"; next_state : "D"; }
    pin (C, D) { direction : input; }
    pin (Q) { direction : output; function : "IQ"; timing () { related_pin : "C";
      timing_type : rising_edge; @both } }
  }
  cell (OR) {
    pin (A, B) { direction : input; }
    pin (Y) { direction : output; function : "A | B"; @arcs }
  }
}
"""


def odd_library(arcs):
    """A library whose tables say 1 for a rise and 2 for a fall, with these arcs of an OR."""
    rise = 'cell_rise (t) { values ("1, 1"); } rise_transition (t) { values ("1, 1"); }'
    text = ODD.replace("@arcs", arcs).replace("@both", "@rise @fall")
    text = text.replace("@rise", rise).replace(
        "@fall", rise.replace("rise", "fall").replace("1", "2")
    )
    return Library(parse_liberty(text, "'odd.lib'"), text.encode())


def or_between_registers():
    module = chain()
    del module["cells"]["inv"]
    module["cells"]["nand"] = cell("OR", A="0", B=3, Y=5)
    return module


@pytest.mark.parametrize(
    "arcs",
    [
        'timing () { related_pin : "A B"; @rise @fall }',
        'timing () { related_pin : "A B"; timing_type : combinational_rise; @rise }'
        'timing () { related_pin : "A B"; timing_type : combinational_fall; @fall }',
        # Tables of the other edge are of no such arc.
        'timing () { related_pin : "A, B"; timing_type : combinational_rise; @rise @fall }'
        'timing () { related_pin : "A"; timing_type : combinational_fall; @fall }'
        'timing () { related_pin : "B"; timing_type : combinational_fall; @rise @fall }',
    ],
)
def test_arcs_in_every_way_that_liberty_writes_them(arcs):
    path = slowest_path(or_between_registers(), odd_library(arcs))
    assert [(stage.cell, stage.delay) for stage in path] == [
        ("first", 2),
        ("nand", 2),
        ("last", 0),
    ]


@pytest.mark.parametrize(
    ("arcs", "message"),
    [
        ("", "from pin 'A' of cell 'OR' to a rise of its output 'Y'"),
        (
            'timing () { related_pin : "A"; @rise @fall }',
            "from pin 'B' of cell 'OR' to a rise of its output 'Y'",
        ),
        (
            'timing () { related_pin : "A B"; timing_type : combinational_rise; @rise @fall }',
            "from pin 'A' of cell 'OR' to a fall of its output 'Y'",
        ),
    ],
)
def test_cell_without_a_delay_from_an_input_that_it_reads(arcs, message):
    with pytest.raises(FormatError, match=rf"^Library 'odd' has no delay {message}$"):
        slowest_path(or_between_registers(), odd_library(arcs))


def test_register_without_a_delay_from_its_clock():
    library = odd_library('timing () { related_pin : "A B"; @rise @fall }')
    text = library.text.decode().replace("rising_edge", "hold_rising")
    library = Library(parse_liberty(text, "'odd.lib'"), text.encode())
    with pytest.raises(
        FormatError,
        match=r"^Library 'odd' has no delay from pin 'C' of cell 'DFF' to a rise of its "
        r"output 'Q'$",
    ):
        slowest_path(or_between_registers(), library)


def test_no_registers_no_path():
    assert slowest_path({"cells": {"inv": cell("INV", A=2, Y=3)}}, GENERIC) == []


def test_levels():
    kind = load_target("ecp5").kind
    module = {
        "cells": {
            "a": cell("LUT4", A=2, Y=3),
            "low": cell("CCU2C", A0=3, CIN="0", Y=4),
            "high": cell("CCU2C", A0=2, CIN=4, Y=5),
            "b": cell("LUT4", A=5, Y=6),
            "ff": cell("TRELLIS_FF", DI=6, Q=7),
            "c": cell("LUT4", A=7, Y=8),
        }
    }
    assert max(cell_levels(module, kind).values()) == 3
    module["cells"]["high"]["connections"] = {"A0": [4], "CIN": ["0"], "Y": [5]}
    assert max(cell_levels(module, kind).values()) == 4


def test_loop():
    module = {"cells": {"a": cell("INV", A=2, Y=3), "b": cell("INV", A=3, Y=2)}}
    with pytest.raises(ToolError, match=r"^The mapped design has a loop through cell '[ab]'$"):
        evaluation_order(module, drivers(module), lambda cell_type: False)


def test_energy_of_a_register_that_follows_its_input():
    module = {
        "ports": {
            "clk": {"direction": "input", "bits": [2]},
            "x": {"direction": "input", "bits": [3]},
        },
        "cells": {"ff": cell("DFF", C=2, D=3, Q=4), "inv": cell("INV", A=4, Y=5)},
    }
    energy = estimate_energy(module, GENERIC)
    # Three nets, each changing in half of the cycles; the last one drives nothing.
    assert energy.activity == pytest.approx(0.5, abs=0.05)
    assert energy.switching_pj == pytest.approx(PIN + 2 * PIN * 0.25, rel=0.05)
    assert energy.internal_pj == pytest.approx(2 * 0.002 + 0.5 * (0.004 + 0.0007), rel=0.05)


def test_energy_of_wires_and_of_inputs_is_told_apart():
    text = GENERIC.text.decode()
    data = "pin (D) {\n      direction : input;\n      capacitance : 0.002;"
    power = 'internal_power () { power (energy) { values ("0.5, 0.5"); } }'
    assert data in text
    library = Library(parse_liberty(text.replace(data, data + power), "'x.lib'"), text.encode())
    module = {
        "ports": {
            "clk": {"direction": "input", "bits": [2]},
            "x": {"direction": "input", "bits": [3]},
        },
        "cells": {"ff": cell("DFF", C=2, D=3, Q=4), "inv": cell("INV", A=4, Y=5)},
    }
    plain = estimate_energy(module, GENERIC)
    assert plain.wires_pj is None
    energy = estimate_energy(module, library, None, WireLoad("w", 0.1, 1.0, ()))
    assert energy.switching_pj == plain.switching_pj
    # The input changes in half of the cycles, and so do two wires.
    assert energy.internal_pj - plain.internal_pj == pytest.approx(0.25, rel=0.05)
    assert energy.wires_pj == pytest.approx(2 * 0.1 * 0.25, rel=0.05)


def packet_register():
    """A register that takes the beats of packets, with all ports of a loader."""
    widths = {"clk": 1, "rst": 1, "s_axis_tdata": 1, "s_axis_tlast": 1, "s_axis_tvalid": 1}
    ports = {
        name: {"direction": "input", "bits": [index + 2] * width}
        for index, (name, width) in enumerate(widths.items())
    }
    bit = ports["s_axis_tdata"]["bits"][0]
    return {"ports": ports, "cells": {"ff": cell("DFF", C=2, D=bit, Q=20)}}


def test_energy_of_a_vector_is_that_of_all_its_beats():
    beat = estimate_energy(packet_register(), GENERIC, Traffic(1, 3, {"in_features": 1}))
    packet = estimate_energy(packet_register(), GENERIC, Traffic(24, 3, {"in_features": 24}))
    assert (beat.vectors, packet.vectors) == (24 * 64, 64)
    assert packet.switching_pj == pytest.approx(beat.switching_pj, rel=0.05)
    assert packet.vector_pj == pytest.approx(24 * beat.vector_pj, rel=0.05)
    assert packet.vector_pj == pytest.approx(24 * (packet.switching_pj + packet.internal_pj))


def test_no_energy_of_packets_that_are_not_described():
    assert estimate_energy(packet_register(), GENERIC) is None


def test_packets_hold_every_feature_and_trits_that_exist():
    ports = {"s_axis_tdata": 8, "s_axis_tlast": 1, "m_axis_tready": 1}
    module = {
        "ports": {
            name: {"direction": "input", "bits": list(range(width))}
            for name, width in ports.items()
        }
    }
    packet = {"in_features": 6, "in_present": 4, "in_trits": 10}
    driven = Traffic(3, 0, packet).drive(module, 100, np.random.default_rng(0))
    beats = list(islice(driven, 6))
    assert all(beat["m_axis_tready"].all() for beat in beats)
    last = [beat["s_axis_tlast"].all() for beat in beats]
    assert last == [beat["s_axis_tlast"].any() for beat in beats]
    assert last == [False, False, True] * 2
    for start in (0, 3):
        vector = np.hstack([beat["s_axis_tdata"] for beat in beats[start : start + 3]])
        assert 0.4 < vector[:, :6].mean() < 0.6
        assert vector[:, 6:10].all()
        negative, positive = vector[:, 10:20:2], vector[:, 11:20:2]
        assert not (negative & positive).any()
        assert 0.6 < (negative | positive).mean() < 0.75
        assert not vector[:, 20:].any()


def test_energy_needs_a_voltage():
    library = load_library("generic")
    library.voltage = None
    assert estimate_energy(chain(), library) is None


@pytest.fixture(scope="module")
def logic(tmp_path_factory):
    out = tmp_path_factory.mktemp("asic")
    net = random_netlist(3, num_inputs=8, num_gates=40, num_outputs=10)
    path = write_logic(net, out).path
    return net, synthesize(path, "trilut_top", load_target("asic"), out=out, blocks=False), out


@pytest.mark.synth
def test_mapped_cells_compute_the_netlist(logic):
    net, _, out = logic
    module = json.loads((out / "yosys.json").read_text())["modules"]["trilut_top"]
    trits = np.random.default_rng(0).integers(-1, 2, (500, 8)).astype(np.int8)
    values = Simulation(module, GENERIC, 500).cycle({"in_trits": pack_trits(trits).astype(bool)})
    outputs = module["ports"]["out_trits"]["bits"]
    found = np.array([[values[bit] >> stream & 1 for bit in outputs] for stream in range(500)])
    np.testing.assert_array_equal(found, pack_trits(net.evaluate(trits)).astype(bool))


@pytest.mark.synth
def test_every_driven_packet_is_classified(tmp_path):
    net = random_netlist(
        3, num_inputs=8, num_gates=20, num_outputs=6, num_classes=3, with_encoder=True
    )
    asic = load_target("asic")
    design = write_verilog(net, tmp_path, HardwareOptions(axi_beat_bits=8, sums=asic.sums))
    traffic = design_traffic(design.interface)
    assert traffic.num_beats > 2
    result = synthesize(design.path, design.top, asic, out=tmp_path, blocks=False, traffic=traffic)
    module = json.loads((tmp_path / "yosys.json").read_text())["modules"][design.top]
    simulation = Simulation(module, GENERIC, 4)
    values = [
        simulation.cycle(inputs)
        for inputs in islice(
            traffic.drive(module, 4, np.random.default_rng(0)),
            traffic.latency + 7 * traffic.num_beats,
        )
    ][-5 * traffic.num_beats :]

    def count(port):
        (bit,) = module["ports"][port]["bits"]
        return sum(value[bit].bit_count() for value in values)

    assert (count("m_axis_tvalid"), count("framing_error")) == (4 * 5, 0)
    energy = result.asic.energy
    assert energy.vector_cycles == traffic.num_beats
    assert energy.vector_pj > energy.switching_pj + energy.internal_pj


@pytest.mark.synth
def test_result_of_an_asic(logic):
    _, result, _ = logic
    document = result_document(result)
    assert json.loads(json.dumps(document)) == document
    asic = document["asic"]
    assert asic["is_invented"]
    assert sum(asic["cell_counts"].values()) == result.cells.gate
    assert sum(asic["cell_areas"].values()) == pytest.approx(result.cells.area)
    assert result.cells.gate_equivalents == pytest.approx(result.cells.area, abs=0.1)
    assert (result.cells.ff, result.cells.other) == (0, 0)
    # Two bits a trit, constant outputs left out.
    assert 30 < result.port_registers <= 36
    assert asic["leakage_nw"] > 0
    assert asic["energy"]["is_estimate"]
    assert document["timing_method"] == "static, no wires"
    path = result.timing.critical_path
    assert (path[0].kind, path[-1].kind) == ("clk-to-q", "setup")
    assert {path[0].block, path[-1].block} == {"port"}
    assert sum(hop.delay_ns for hop in path) == pytest.approx(result.timing.period_ns, abs=0.01)


def test_liberty_file_that_is_none(tmp_path):
    (tmp_path / "x.lib").write_text("module top();")
    (tmp_path / "x.v").write_text("")
    with pytest.raises(FormatError) as caught:
        synthesize(
            tmp_path / "x.v",
            "top",
            load_target("asic"),
            settings=SynthesisSettings(liberty=tmp_path / "x.lib"),
            out=tmp_path,
        )
    assert str(caught.value) == (
        f"{str(tmp_path / 'x.lib')!r} is not a liberty file: "
        "line 1 is not part of a group 'library'"
    )


def test_liberty_file_for_an_fpga(tmp_path):
    with pytest.raises(ToolError, match=r"^Target 'ecp5' is no ASIC and takes no liberty file$"):
        synthesize(
            tmp_path / "x.v",
            "top",
            load_target("ecp5"),
            settings=SynthesisSettings(liberty=tmp_path / "x.lib"),
            out=tmp_path,
        )

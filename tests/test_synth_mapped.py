import json

import pytest

from trilut.synth import Cells, load_target
from trilut.synth.asic.sources import load_library
from trilut.synth.mapped import MappedDesign

ECP5 = load_target("ecp5")
REGISTER = ECP5.place_and_route.register


def cell(cell_type, src="", **connections):
    return {
        "type": cell_type,
        "attributes": {"src": src} if src else {},
        "port_directions": {
            port: "output" if port in ("Q", "Z") else "input" for port in connections
        },
        "connections": {port: [bit] for port, bit in connections.items()},
    }


def scope(module_src):
    return {
        "type": "$scopeinfo",
        "attributes": {"module_src": module_src},
        "port_directions": {},
        "connections": {},
    }


def design(folder, cells, ports=(), modules=()):
    top = {
        "attributes": {},
        "ports": dict(ports),
        "cells": cells,
        "netnames": {"n": {"bits": [2, 3, 4, 5, "x"]}},
    }
    path = folder / "yosys.json"
    path.write_text(json.dumps({"modules": {"top": top, **dict(modules)}}))
    return MappedDesign(path, "top")


def port(direction, *bits):
    return {"direction": direction, "bits": list(bits)}


def module(*types):
    return {"attributes": {}, "cells": {f"c{i}": cell(t) for i, t in enumerate(types)}}


def test_cells_of_known_and_unknown_kinds(tmp_path):
    types = ["LUT4", "LUT4", "TRELLIS_FF", "CCU2C", "DP16KD", "MULT18X18D", "OSCG", "$scopeinfo"]
    cells = {f"c{i}": cell(t) for i, t in enumerate(types)}
    assert design(tmp_path, cells).count(ECP5) == Cells(
        lut4=2, ff=1, carry=1, bram=1, dsp=1, other=1, lut4_equivalents=4
    )


def test_blocks_stand_in_the_order_of_the_data(tmp_path):
    names = ["spare", "control", "argmax", "groupsum", "layer_10", "layer_2", "encoder"]
    mapped = design(
        tmp_path,
        {name: cell("m") for name in names} | {"loose": cell("LUT4")},
        modules={"m": module("LUT4")},
    )
    assert list(mapped.count_blocks(ECP5)) == [*reversed(names[1:]), "spare", "top"]


def test_blocks_inside_a_wrapper(tmp_path):
    core = {
        "attributes": {},
        "cells": {"layer_1": cell("l"), "helper": cell("l"), "x": cell("LUT4")},
    }
    mapped = design(
        tmp_path, {"core": cell("c")}, modules={"c": core, "l": module("LUT4", "TRELLIS_FF")}
    )
    assert mapped.count_blocks(ECP5) == {
        "layer_1": Cells(lut4=1, ff=1, lut4_equivalents=1),
        "core": Cells(lut4=2, ff=1, lut4_equivalents=2),
    }


def test_cells_of_the_part_are_not_opened(tmp_path):
    library = {"attributes": {"blackbox": "1"}, "cells": {"inside": cell("LUT4")}}
    mapped = design(tmp_path, {"ff": cell("TRELLIS_FF")}, modules={"TRELLIS_FF": library})
    assert mapped.count(ECP5) == Cells(ff=1)


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("layer_3.o_LUT4_Z", "layer_3"),
        ("core.layer_3.o_LUT4_Z", "layer_3"),
        ("core.spare.o_LUT4_Z", "core"),
        ("in_ready_LUT4_Z", "top"),
        ("$port.in_valid[0]", "port"),
        ("layer_3.misnamed", "encoder"),
        ("layer_3.outside", "layer_3"),
    ],
)
def test_block_of_a_cell(tmp_path, name, block):
    cells = {
        "encoder": scope("design.v:10.1-20.10"),
        "layer_3": scope("design.v:21.1-30.10"),
        "layer_3.misnamed": cell("TRELLIS_FF", "design.v:20.3-20.9|/share/cells.v:1.1-2.2"),
        "layer_3.outside": cell("TRELLIS_FF", "design.v:99.1-99.9"),
    }
    assert design(tmp_path, cells).block_of(name) == block


def test_a_register_at_each_port(tmp_path):
    cells = {"lut": cell("LUT4", A=3, B="0", Z=5)}
    ports = {
        "clk": port("input", 2),
        "a": port("input", 3, 4),
        "y": port("output", 5, "0", 5),
        "z": port("output", 4),
    }
    mapped = design(tmp_path, cells, ports)
    assert mapped.register_ports(REGISTER) == 5
    mapped.save(tmp_path / "out.json")
    top = json.loads((tmp_path / "out.json").read_text())["modules"]["top"]
    assert top["ports"] == {"clk": port("input", 2)}
    added = {name: c["connections"] for name, c in top["cells"].items() if name != "lut"}
    assert added == {
        "$port.a[0]": {"CLK": [2], "DI": [], "Q": [3]},
        "$port.a[1]": {"CLK": [2], "DI": [], "Q": [4]},
        "$port.y[0]": {"CLK": [2], "DI": [5], "Q": []},
        "$port.y[2]": {"CLK": [2], "DI": [5], "Q": []},
        "$port.z[0]": {"CLK": [2], "DI": [4], "Q": []},
    }
    assert top["cells"]["$port.a[0]"]["parameters"] == {"GSR": "DISABLED"}


def test_inputs_that_nothing_reads_get_no_register(tmp_path):
    ports = {"clk": port("input", 2), "a": port("input", 3)}
    assert design(tmp_path, {}, ports).register_ports(REGISTER) == 0


def test_a_design_without_a_clock_gets_one(tmp_path):
    mapped = design(tmp_path, {"lut": cell("LUT4", A=3, Z=5)}, {"a": port("input", 3)})
    assert not mapped.has_clock
    mapped.register_ports(REGISTER)
    mapped.save(tmp_path / "out.json")
    top = json.loads((tmp_path / "out.json").read_text())["modules"]["top"]
    assert top["ports"] == {"clk": port("input", 6)}
    assert top["cells"]["$port.a[0]"]["connections"]["CLK"] == [6]


def saved_top(mapped, folder):
    mapped.save(folder / "out.json")
    return json.loads((folder / "out.json").read_text())["modules"]["top"]


def test_buffer_at_the_pin_of_the_clock(tmp_path):
    ports = {"clk": port("input", 2), "a": port("input", 3)}
    mapped = design(tmp_path, {"lut": cell("LUT4", A=3, Z=5)}, ports)
    settings = load_target("gowin").place_and_route
    assert mapped.register_ports(settings.register, settings.clock) == 1
    top = saved_top(mapped, tmp_path)
    (pin,) = top["ports"]["clk"]["bits"]
    assert pin not in (2, 3, 5)
    assert top["netnames"]["clk"]["bits"] == [pin]
    assert top["cells"]["$clock"]["connections"] == {"O": [2], "I": [pin]}
    assert top["cells"]["$clock"]["port_directions"] == {"O": "output", "I": "input"}
    assert top["cells"]["$clock"]["attributes"] == {"BEL": "X46Y16/IOBA"}
    assert top["cells"]["$port.a[0]"]["connections"] == {"CLK": [2], "D": ["0"], "Q": [3]}


def test_register_that_the_tool_would_remove(tmp_path):
    mapped = design(tmp_path, {}, {"clk": port("input", 2), "y": port("output", 3)})
    settings = load_target("gatemate").place_and_route
    mapped.register_ports(settings.register, settings.clock)
    register = saved_top(mapped, tmp_path)["cells"]["$port.y[0]"]
    assert register["attributes"] == {"keep": "1"}
    assert register["parameters"] == {"EN_INV": "1 "}


def test_oscillator_instead_of_a_pin(tmp_path):
    mapped = design(tmp_path, {"lut": cell("LUT4", A=3, Z=5)}, {"clk": port("input", 2)})
    settings = load_target("nexus").place_and_route
    mapped.register_ports(settings.register, settings.clock)
    top = saved_top(mapped, tmp_path)
    assert top["ports"] == {}
    assert top["cells"]["$clock"]["connections"] == {"HFCLKOUT": [2]}
    # Text that looks like a number in binary is marked with a space.
    assert top["cells"]["$clock"]["parameters"] == {"HF_CLK_DIV": "1 ", "HF_OSC_EN": "ENABLED"}


def test_cells_of_a_part_of_lut6(tmp_path):
    types = ["LUT2", "LUT6", "LUT6_2", "INV", "FDRE", "CARRY4", "MUXF7"]
    cells = {f"c{i}": cell(t) for i, t in enumerate(types)}
    assert design(tmp_path, cells).count(load_target("xc7")) == Cells(
        lut6=4, ff=1, carry=1, mux=1, lut6_equivalents=4
    )


def test_constants_take_nothing(tmp_path):
    cells = {"a": cell("VCC"), "b": cell("GND"), "c": cell("ALU"), "d": cell("LUT3")}
    assert design(tmp_path, cells).count(load_target("gowin")) == Cells(
        lut4=1, carry=1, lut4_equivalents=2
    )


def test_area_of_standard_cells(tmp_path):
    library = load_library("generic")
    cells = {"a": cell("NAND2"), "b": cell("XOR2"), "c": cell("DFF"), "d": cell("UNKNOWN")}
    target = library.target(load_target("asic"))
    assert design(tmp_path, cells).count(target, library.areas) == Cells(
        gate=2, ff=1, other=1, area=1 + 2.2 + 5.5, gate_equivalents=8.7
    )

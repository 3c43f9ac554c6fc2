# amaranth: UnusedElaboratable=no
import dataclasses
import json

import pytest

from trilut.hdl.conversion import convert
from trilut.hdl.sums.groupsum import TritSum
from trilut.synth import load_target, synthesize
from trilut.synth.carries import open_carries


def ccu2c(cin, s0, cout, init0, d0="1"):
    inputs = {"CIN": cin, "A0": 2, "B0": "0", "C0": "0", "D0": d0}
    outputs = {"S0": s0, "COUT": cout}
    return {
        "type": "CCU2C",
        "parameters": {"INIT0": f"{init0:016b}"},
        "port_directions": dict.fromkeys(inputs, "input") | dict.fromkeys(outputs, "output"),
        "connections": {pin: [bit] for pin, bit in (inputs | outputs).items()},
    }


def module(*cells, outputs=()):
    port = {"direction": "output", "bits": list(outputs)}
    return {"ports": {"o": port}, "cells": {str(index): cell for index, cell in enumerate(cells)}}


# Generates A0 and, with D0 at 1, propagates nothing.
ENTRY = 0x000A


def test_ends_that_lead_nowhere_are_opened():
    first, last = ccu2c("0", 10, 11, ENTRY), ccu2c(11, 12, 13, 0x696A)
    assert open_carries(module(first, last, outputs=[12])) == 2
    assert first["connections"]["CIN"] == ["x"]
    assert first["connections"]["COUT"] == [11]
    assert last["connections"]["CIN"] == [11]
    assert last["connections"]["COUT"] == ["x"]


@pytest.mark.parametrize(
    ("cell", "outputs"),
    [
        (ccu2c("0", 10, 11, ENTRY), [10, 11]),
        (ccu2c("0", 10, 11, 0x96AA), [11]),
        (ccu2c("0", 10, 11, ENTRY, d0="0"), [11]),
        (ccu2c("0", 10, 11, ENTRY, d0=3), [11]),
        (ccu2c(4, 10, 11, ENTRY), [11]),
    ],
    ids=["sum is read", "propagates", "pin is 0", "pin varies", "carry varies"],
)
def test_a_carry_that_matters_stays(cell, outputs):
    before = json.dumps(cell)
    assert open_carries(module(cell, outputs=outputs)) == 0
    assert json.dumps(cell) == before


@pytest.mark.synth
def test_both_ends_of_every_chain_of_a_sum_are_opened(tmp_path):
    component = TritSum([[(-1, 0, 1)] * 40], 7, target="ecp5", input_register=True)
    (tmp_path / "top.v").write_text(convert(component, "top", tmp_path))
    target = dataclasses.replace(load_target("ecp5"), place_and_route=None)
    result = synthesize(tmp_path / "top.v", "top", target, out=tmp_path, blocks=False)
    # The first level asks for [v=0] of two trits in three, which here takes a LUT each.
    assert result.cells.lut4_equivalents - 26 <= 2.5 * 40
    mapped = json.loads((tmp_path / "yosys.json").read_text())["modules"]["top"]
    num_chains = sum(len(level.cells) for plan in component.plans for level in plan.levels)
    assert open_carries(mapped) == 2 * num_chains


@pytest.mark.parametrize(
    ("init", "outputs", "opened"),
    # As Yosys lets a carry in, and then with a sum that is read or a carry that is passed on.
    [("0x00AA", [8], 1), ("0x00AA", [7, 8], 0), ("0x96AA", [8], 0)],
)
def test_constant_carry_into_a_chain_of_nexus(init, outputs, opened):
    inputs = {"CIN": 3, "A0": 4, "B0": 4, "C0": 4, "D0": 4, "A1": 2, "B1": 4, "C1": 4, "D1": 4}
    results = {"S0": 6, "S1": 7, "COUT": 8}
    cell = {
        "type": "CCU2",
        "parameters": {"INIT0": "0xFFFF", "INIT1": init},
        "port_directions": dict.fromkeys(inputs, "input") | dict.fromkeys(results, "output"),
        "connections": {pin: [bit] for pin, bit in (inputs | results).items()},
    }
    low, high = (
        {"type": name, "connections": {"Z": [bit]}, "port_directions": {"Z": "output"}}
        for name, bit in (("VLO", 3), ("VHI", 4))
    )
    assert open_carries(module(cell, low, high, outputs=outputs)) == opened
    assert cell["connections"]["CIN"] == ([] if opened else [3])

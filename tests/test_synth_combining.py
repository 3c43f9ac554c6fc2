import random

import pytest

from trilut.synth import load_target
from trilut.synth.combining import combine_tables

KIND = load_target("xc7").kind


def lut(table, output, *inputs):
    size = len(inputs)
    return {
        "type": f"LUT{size}",
        "parameters": {"INIT": f"{table:0{1 << size}b}"},
        "attributes": {},
        "port_directions": {**{f"I{pin}": "input" for pin in range(size)}, "O": "output"},
        "connections": {f"I{pin}": [bit] for pin, bit in enumerate(inputs)} | {"O": [output]},
    }


def values(module, known):
    """Return the value of each bit, given those of the inputs."""
    known = dict(known) | {"0": 0, "1": 1}
    cells = list(module["cells"].values())
    while cells:
        ready = [
            cell
            for cell in cells
            if all(
                bits[0] in known
                for port, bits in cell["connections"].items()
                if cell["port_directions"][port] == "input"
            )
        ]
        # A pair that waits for itself would wait for ever.
        assert ready
        for cell in ready:
            wires = cell["connections"]
            pins = [wires[f"I{pin}"][0] for pin in range(len(wires)) if f"I{pin}" in wires]
            row = sum(known[bit] << pin for pin, bit in enumerate(pins))
            table = int(cell["parameters"]["INIT"], 2)
            for port, wanted in (("O", row), ("O6", row), ("O5", row & 31)):
                if port in wires:
                    known[wires[port][0]] = table >> wanted & 1
            cells.remove(cell)
    return known


@pytest.mark.parametrize("seed", range(20))
def test_pairs_compute_what_their_tables_did(seed):
    rng = random.Random(seed)
    inputs = range(2, 8)
    cells, bits = {}, list(inputs)
    for number in range(20):
        size = rng.randint(1, 6)
        sources = rng.sample([*bits, "0", "1"], size)
        cells[f"c{number}"] = lut(rng.getrandbits(1 << size), 10 + number, *sources)
        bits.append(10 + number)
    module = {"cells": cells}
    known = {bit: rng.getrandbits(1) for bit in inputs}
    expected = values(module, known)
    count = combine_tables(module, KIND)
    assert len(module["cells"]) == 20 - count
    assert sum(cell["type"] == "LUT6_2" for cell in module["cells"].values()) == count
    assert values(module, known) == expected


def test_tables_that_share_most_go_together():
    cells = {
        "a": lut(0x1, 10, 2, 3),
        "b": lut(0x2, 11, 3, 4, 5),
        "c": lut(0x3, 12, 2, 3),
    }
    assert combine_tables({"cells": cells}, KIND) == 1
    assert {cells["a"]["type"], cells["b"]["type"]} == {"LUT6_2", "LUT3"}
    assert "c" not in cells


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((2, 3, 4), (5, 6, 7)),  # six inputs
        ((2, 3), (4, 5)),  # nothing shared
        ((2, 3), (2, 10)),  # one reads the other
        ((2, "0"), (3, "0")),  # a constant is nothing to share
    ],
)
def test_tables_that_stay_alone(first, second):
    cells = {"a": lut(0x1, 10, *first), "b": lut(0x1, 11, *second)}
    assert combine_tables({"cells": cells}, KIND) == 0
    assert set(cells) == {"a", "b"}

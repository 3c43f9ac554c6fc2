import re

import numpy as np
import pytest
from circuits import random_nodes
from commandline import fails

from trilut.circuit.kinds import Kind
from trilut.circuit.shapes import row_values
from trilut.interchange.blif import to_blif, to_blif_mv
from trilut.interchange.logic import logic_of, wire_names


@pytest.fixture(params=range(3))
def net(request):
    return random_nodes(request.param, num_inputs=5, num_gates=20, num_outputs=6)


def wires(prefix, kinds, values):
    """Return the bits of values by the names of their wires."""
    return {
        name: int(value == level)
        for number, (kind, value) in enumerate(zip(kinds, values, strict=True))
        for name, level in zip(wire_names(f"{prefix}{number}", kind), (1, -1), strict=False)
    }


def samples(net):
    rows = row_values(net.kinds[: net.num_inputs].tolist())[::3]
    return zip(rows.tolist(), net.evaluate(rows).tolist(), strict=True)


def blocks(text, keyword):
    return re.split(rf"^\.{keyword} ", text.split(".end")[0], flags=re.MULTILINE)[1:]


def test_blif_computes_nodes(net):
    text = to_blif(net).replace("\\\n", " ")
    for trits, expected in samples(net):
        values = wires("n", net.kinds[: net.num_inputs], trits)
        for block in blocks(text, "names"):
            names, *rows = block.strip().splitlines()
            *sources, target = names.split()
            code = "".join(str(values[source]) for source in sources)
            values[target] = int(any("".join(row.split()[:-1]) == code for row in rows))
        outputs = {name: bit for name, bit in values.items() if name.startswith("o")}
        assert outputs == wires("o", net.kinds[net.outputs], expected)


def test_blif_mv_computes_nodes(net):
    text = to_blif_mv(net)
    for trits, expected in samples(net):
        places = {
            f"n{number}": Kind(net.kinds[number]).values.index(value)
            for number, value in enumerate(trits)
        }
        for block in blocks(text, "table"):
            names, *rows = block.strip().splitlines()
            *sources, _, target = names.split()
            table = {tuple(row.split()[:-1]): int(row.split()[-1]) for row in rows}
            places[target] = table[tuple(str(places[source]) for source in sources)]
        kinds = [Kind(kind) for kind in net.kinds[net.outputs]]
        found = [kind.values[places[f"o{number}"]] for number, kind in enumerate(kinds)]
        assert found == expected


def test_graph_of_ands_computes_nodes(net):
    logic = logic_of(net)
    for trits, expected in samples(net):
        bits = wires("n", net.kinds[: net.num_inputs], trits)
        assert list(logic.inputs) == list(bits)
        patterns = {
            logic.inputs[name]: np.array([bit], dtype=np.uint64) for name, bit in bits.items()
        }
        values = logic.graph.simulate(patterns)[:, 0].tolist()
        found = {name: (values[lit >> 1] ^ lit) & 1 for name, lit in logic.outputs.items()}
        assert found == wires("o", net.kinds[net.outputs], expected)


def test_scores_are_no_logic(tmp_path, capsys):
    net = random_nodes(
        0, num_inputs=5, num_gates=9, num_outputs=4, num_classes=2, scores=True, with_encoder=True
    )
    net.save(tmp_path / "net.trilut")
    command = ["export", str(tmp_path / "net.trilut"), "-o", str(tmp_path / "out")]
    message = fails(capsys, *command, "--format", "blif")
    assert message == "Output 0 is a score, but there is no head to add it to"

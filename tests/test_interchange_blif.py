import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from circuits import random_netlist

from trilut import load
from trilut.cli import main
from trilut.interchange.blif import to_blif, to_blif_mv
from trilut.tools import find_tool

REGRESSION = Path(__file__).parent / "regression"


def evaluate_blif(text, inputs):
    """Evaluate a BLIF text in the order of its tables, which is evaluation order."""
    values = {
        f"n{index}_{rail}": int(trit == value)
        for index, trit in enumerate(inputs)
        for rail, value in (("p", 1), ("m", -1))
    }
    joined = text.replace("\\\n", " ").split(".end")[0]
    for block in re.split(r"^\.names ", joined, flags=re.MULTILINE)[1:]:
        names, *rows = block.strip().splitlines()
        *sources, target = names.split()
        code = "".join(str(values[source]) for source in sources)
        covers = ("".join(row.split()[:-1]) for row in rows)
        values[target] = int(any(re.fullmatch(cover.replace("-", "."), code) for cover in covers))
    num_outputs = sum(name.startswith("o") for name in values) // 2
    return [values[f"o{index}_p"] - values[f"o{index}_m"] for index in range(num_outputs)]


def evaluate_blif_mv(text, valence, inputs):
    """Evaluate a BLIF-MV text in the order of its tables, which is evaluation order."""
    step = 2 // (valence - 1)
    values = {f"n{index}": (int(trit) + 1) // step for index, trit in enumerate(inputs)}
    outputs = []
    for block in re.split(r"^\.table ", text.split(".end")[0], flags=re.MULTILINE)[1:]:
        names, *rows = block.strip().splitlines()
        *sources, _, target = names.split()
        table = {tuple(row.split()[:-1]): int(row.split()[-1]) for row in rows}
        values[target] = table[tuple(str(values[source]) for source in sources)]
        if target.startswith("o"):
            outputs.append(values[target] * step - 1)
    return outputs


@pytest.mark.parametrize("valence", [2, 3])
def test_blif_mv_computes_the_netlist(valence):
    netlist = random_netlist(1, num_inputs=4, num_gates=20, num_outputs=5, valence=valence)
    rng = np.random.default_rng(0)
    trits = rng.choice([-1, 1] if valence == 2 else [-1, 0, 1], (40, 4))
    expected = netlist.evaluate(trits).tolist()
    text = to_blif_mv(netlist)
    assert [evaluate_blif_mv(text, valence, row) for row in trits] == expected


@pytest.mark.parametrize("options", [[], ["--no-optimize"]])
@pytest.mark.parametrize("language", ["blif", "blif-mv"])
def test_written_file_computes_the_netlist_for_any_trits(tmp_path, language, options):
    path = REGRESSION / "ternary_two_classes.trilut"
    command = ["export", str(path), "-o", str(tmp_path), "--format", language]
    assert main([*command, *options]) == 0
    (written,) = tmp_path.iterdir()
    netlist = load(path)
    trits = np.random.default_rng(0).integers(-1, 2, (50, netlist.num_inputs))
    text = written.read_text()
    found = [
        evaluate_blif(text, row) if language == "blif" else evaluate_blif_mv(text, 3, row)
        for row in trits
    ]
    assert found == netlist.evaluate(trits).tolist()
    tables = text.count("\n.table " if language == "blif-mv" else "\n.names ")
    of_outputs = len(netlist.outputs)
    gates = tables // (1 if language == "blif-mv" else 2) - of_outputs
    assert (gates == netlist.num_gates) == bool(options)


@pytest.mark.synth
@pytest.mark.parametrize("valence", [2, 3])
def test_blif_computes_the_netlist_in_yosys(tmp_path, valence):
    netlist = random_netlist(2, num_inputs=20, num_gates=50, num_outputs=6, valence=valence)
    (tmp_path / "net.blif").write_text(to_blif(netlist, model="net"))
    rng = np.random.default_rng(0)
    trits = rng.choice([-1, 1] if valence == 2 else [-1, 0, 1], (8, 20))
    names = [f"o{index}_{rail}" for index in range(6) for rail in "pm"]
    commands = ["read_blif net.blif"]
    for row in trits:
        sets = " ".join(
            f"-set n{index}_{rail} {int(trit == value)}"
            for index, trit in enumerate(row)
            for rail, value in (("p", 1), ("m", -1))
        )
        commands.append(f"eval {sets} {' '.join(f'-show {name}' for name in names)} net")
    (tmp_path / "check.ys").write_text("\n".join(commands) + "\n")
    tool = find_tool("yosys")
    done = subprocess.run(
        [*tool.command, "-s", "check.ys"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    found = re.findall(r"Eval result: \\(o\d+_[pm]) = 1'([01])", done.stdout)
    bits = np.array([int(bit) for _, bit in found]).reshape(8, 6, 2)
    assert np.array_equal(bits[:, :, 0] - bits[:, :, 1], netlist.evaluate(trits))

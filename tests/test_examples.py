import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name, directory):
    command = [sys.executable, str(EXAMPLES / name)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=directory, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.synth
def test_circuit_by_hand_is_proven(tmp_path):
    lines = run("circuit_by_hand.py", tmp_path).splitlines()
    assert lines[:4] == ["[1, 1, 0] -> 1", "[1, 0, 0] -> 0", "[1, -1, 0] -> 0", "[-1, -1, 0] -> -1"]
    assert (tmp_path / lines[4]).exists()
    assert lines[5].startswith("passed ")


def test_counter_in_hardware_equals_software(tmp_path):
    counts = re.findall(r": (\d+)", run("inside_amaranth.py", tmp_path))
    assert counts[0] == counts[1]
    assert int(counts[0]) > 0


def test_silent_sensors_make_the_ternary_circuit_abstain(tmp_path):
    rows = re.findall(r"([\d.]+)% of +([\d.]+)%", run("silent_sensors.py", tmp_path))
    answered = [float(of) for _, of in rows[::2]]
    assert len(answered) == 6
    assert answered[-1] < answered[0]


def test_estimator_becomes_verilog(tmp_path):
    lines = run("estimator.py", tmp_path).splitlines()
    assert re.fullmatch(r"chosen: delta 0\.[05], 40 gates", lines[0])
    assert float(re.fullmatch(r"test accuracy ([\d.]+)%", lines[1])[1]) > 85
    assert lines[2].startswith("a tenth missing: ")
    assert int(re.fullmatch(r"trilut_top\.v: (\d+) lines of Verilog", lines[3])[1]) > 100

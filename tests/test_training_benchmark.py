import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parent.parent / "benchmarks" / "training_accuracy.py"


def benchmark(*arguments):
    command = [sys.executable, str(BENCHMARK), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_trainings_are_kept_and_not_repeated(tmp_path):
    arguments = ("--quick", "--only", "moons-0.25,moons-dlgn", "-o", str(tmp_path))
    assert benchmark(*arguments).returncode == 0
    kept = tmp_path / "moons-0.25" / "0"
    assert sorted(path.name for path in kept.iterdir()) == [
        "config.json",
        "metrics.jsonl",
        "result.json",
        "seconds.json",
    ]
    page = (tmp_path / "training-results.md").read_text()
    first = kept.joinpath("result.json").stat().st_mtime_ns
    assert benchmark(*arguments).returncode == 0
    assert kept.joinpath("result.json").stat().st_mtime_ns == first
    assert (tmp_path / "training-results.md").read_text() == page
    result = json.loads(kept.joinpath("result.json").read_text())
    assert f"| moons | 0.25 | **{100 * result['hardened']['test']:.2f}** |" in page
    assert set(json.loads((tmp_path / "results.json").read_text())) == {"moons-0.25", "moons-dlgn"}


def test_row_that_does_not_exist(tmp_path):
    ended = benchmark("--only", "mnist-9k", "-o", str(tmp_path))
    assert ended.returncode == 2
    assert ended.stderr.endswith("error: no row is called 'mnist-9k'\n")

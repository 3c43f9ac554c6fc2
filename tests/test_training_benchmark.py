import json
import shutil
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
        "net.trilut",
        "seconds.json",
    ]
    page = (tmp_path / "training-results.md").read_text()
    results = (tmp_path / "training-results.json").read_text()
    shutil.rmtree(kept)
    assert benchmark(*arguments).returncode == 0
    assert not kept.exists()
    assert (tmp_path / "training-results.md").read_text() == page
    assert (tmp_path / "training-results.json").read_text() == results
    rows = json.loads(results)
    assert set(rows) == {"moons-0.25", "moons-dlgn"}
    test = 100 * rows["moons-0.25"]["0"]["hardened"]["test"]
    assert f"| moons | 0.25 | **{test:.2f}** |" in page


def test_row_that_does_not_exist(tmp_path):
    ended = benchmark("--only", "mnist-9k", "-o", str(tmp_path))
    assert ended.returncode == 2
    assert ended.stderr.endswith("error: no row is called 'mnist-9k'\n")

import dataclasses
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from trilut.data import load_dataset
from trilut.training import fit_encoder

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import trees as benchmark
from trees import smallest_trees, to_bins, write_trees


@pytest.fixture(autouse=True)
def few_models(monkeypatch):
    monkeypatch.setattr(benchmark, "RATES", (0.5,))
    monkeypatch.setattr(benchmark, "ROUNDS", (1, 2, 4, 8))


def encoder_of(dataset):
    return fit_encoder(
        dataset.train.x, dataset.feature_names, thresholds=7, delta=0.0, spacing="balanced"
    )


def with_gaps(x):
    return np.where(np.random.default_rng(0).random(x.shape) < 0.1, np.nan, x)


def test_bins_count_the_thresholds_that_are_reached():
    dataset = load_dataset("iris")
    encoder = encoder_of(dataset)
    x = with_gaps(dataset.test.x)
    bins, trits = to_bins(encoder, x), encoder.encode(x)
    for feature in range(dataset.num_features):
        reached = (trits[:, encoder.feature == feature] > 0).sum(axis=1)
        there = ~np.isnan(x[:, feature])
        np.testing.assert_array_equal(np.isnan(bins[:, feature]), ~there)
        np.testing.assert_array_equal(bins[there, feature], reached[there])


def test_trees_are_as_good_as_asked():
    dataset = load_dataset("moons")
    trees, accuracy = smallest_trees(dataset, 0.8)
    assert accuracy >= 0.8
    right = trees.classes(to_bins(trees.encoder, dataset.validation.x)) == dataset.validation.y
    assert right.mean() == accuracy


BENCH = """
module bench;
  reg clk = 0;
  reg [{features}:0] features[0:{last}];
  reg [{present}:0] present[0:{last}];
  reg [{features}:0] x;
  reg [{present}:0] p;
  wire [{decision}:0] decision;
  trees_top top (.clk(clk), .features(x), {port} .decision(decision));
  integer sample, cycle;
  initial begin
    $readmemb("features.txt", features);
    $readmemb("present.txt", present);
    for (sample = 0; sample <= {last}; sample = sample + 1) begin
      x = features[sample]; p = present[sample];
      for (cycle = 0; cycle < 40; cycle = cycle + 1) begin #1 clk = 1; #1 clk = 0; end
      $display("%0d", decision[{chosen}:0]);
    end
  end
endmodule
"""


@pytest.mark.slow
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", ["moons", "iris"])
def test_verilog_of_trees_decides_as_they_do(name, missing, tmp_path):
    if shutil.which("iverilog") is None:
        pytest.skip("iverilog is not on PATH")
    dataset = load_dataset(name)
    if missing:
        # Values that are missing more often in one class make trees ask for that alone.
        train = dataset.train
        x = np.where((train.y == 0)[:, None], with_gaps(train.x), train.x)
        dataset = dataclasses.replace(dataset, train=dataclasses.replace(train, x=x))
    trees, _ = smallest_trees(dataset, 0.9)
    encoder = trees.encoder
    write_trees(trees, tmp_path / "trees.v", missing=missing)
    x = dataset.test.x[:200]
    x = with_gaps(x) if missing else x
    vectors = encoder.quantize(x)
    words = [
        "".join(
            format(int(value), f"0{feature.bits}b")
            for value, feature in zip(row[::-1], encoder.features[::-1], strict=True)
        )
        for row in vectors.values
    ]
    (tmp_path / "features.txt").write_text("\n".join(words) + "\n")
    there = ["".join("01"[bit] for bit in row[::-1].astype(int)) for row in vectors.valid]
    (tmp_path / "present.txt").write_text("\n".join(there) + "\n")
    text = (tmp_path / "trees.v").read_text()
    width = int(text.split("] decision")[0].rsplit("[", 1)[1].split(":")[0])
    bench = BENCH.format(
        features=len(words[0]) - 1,
        present=len(there[0]) - 1,
        last=len(x) - 1,
        decision=width,
        chosen=(dataset.num_classes - 1).bit_length() - 1,
        port=".present(p)," if missing else "",
    )
    (tmp_path / "bench.v").write_text(bench)
    compile_all = ["iverilog", "-g2012", "-o", "bench", "bench.v", "trees.v"]
    subprocess.run(compile_all, cwd=tmp_path, check=True)
    done = subprocess.run(
        ["vvp", "bench"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    chosen = [int(line) for line in done.stdout.split()]
    assert chosen == trees.classes(to_bins(encoder, x)).tolist()

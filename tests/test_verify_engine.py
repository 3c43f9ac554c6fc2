from pathlib import Path

import numpy as np
import pytest

from trilut import load
from trilut.circuit.encoder import FeatureVectors
from trilut.engine import classify, compile_netlist
from trilut.errors import TrilutError
from trilut.hdl.engine import EngineSize
from trilut.hdl.engine.loader import LoadState
from trilut.verify.engine import check_engine, simulate_engine

REGRESSION = Path(__file__).parent / "regression"
NAMES = ["ternary_ten_classes", "missing_features", "several_output_layers", "dlgn_three_classes"]

pytestmark = pytest.mark.sim


def random_vectors(image, seed, count):
    rng = np.random.default_rng(seed)
    values = np.stack(
        [rng.integers(f.minimum, f.maximum + 1, count) for f in image.encoder.features], axis=1
    )
    return FeatureVectors(values, rng.random(values.shape) > 0.1)


@pytest.mark.parametrize(("samples", "lanes"), [(16, 1), (1, 2)])
def test_one_engine_runs_all_models(samples, lanes, tmp_path):
    size = EngineSize(samples=samples, lanes=lanes, entries=512, instructions=2048)
    images = [compile_netlist(load(REGRESSION / f"{name}.trilut"), lanes=lanes) for name in NAMES]
    with simulate_engine(size, tmp_path) as engine:
        for number, image in enumerate(images):
            size.check(image)
            assert engine.load(image.program_bytes()) is LoadState.LOADED
            content = bytearray(images[number - 1].program_bytes())
            content[200] ^= 1
            assert engine.load(bytes(content)) is LoadState.WRONG_CHECKSUM
            vectors = random_vectors(image, number, 100)
            expected = classify(image, vectors)
            for stalls in (False, True):
                answers = engine.run(image, vectors, stalls=stalls)
                np.testing.assert_array_equal(answers.chosen, expected.chosen)
                np.testing.assert_array_equal(answers.margin, expected.margin)
                np.testing.assert_array_equal(answers.unknown, expected.unknown)


def test_a_model_that_does_not_fit(tmp_path):
    image = compile_netlist(load(REGRESSION / "one_gate.trilut"), lanes=2)
    with pytest.raises(TrilutError, match=r"^The model is for 2 lanes, but the engine has 1$"):
        check_engine(image, random_vectors(image, 0, 4), EngineSize(), tmp_path)

import numpy as np
import pytest
from circuits import random_nodes

from trilut import DataError, Netlist, sim
from trilut.circuit.kinds import Kind
from trilut.circuit.shapes import row_values

ENGINES = ["C", "numpy", "lookup", "jax"]
SHAPES = {
    "bits": ("bbbbbb", "bbbbb", "bbbb", "bbb", "bb", "b"),
    "trits": ("ttt", "tt", "t"),
    "mixed": ("bbbbbb", "ttt", "ttbb", "tt", "bt", "b", "t", "bbbb", "bbbbb"),
}
FIELDS = ("scores", "chosen", "margin", "unknown")


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setenv("TRILUT_KERNEL", "numpy")
    return "fast" if request.param in ("C", "numpy") else request.param


def random_trits(net, count, seed=0):
    kinds = net.kinds[: net.num_inputs].tolist()
    rng = np.random.default_rng(seed)
    columns = [rng.choice(Kind(kind).values, count) for kind in kinds]
    return np.stack(columns, axis=1).astype(np.int8)


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("scores", [False, True])
def test_engines_agree_with_the_reference(engine, shapes, scores):
    # JAX compiles for every size.
    for seed in range(1 if engine == "jax" else 3):
        net = random_nodes(
            seed,
            num_inputs=9,
            num_gates=70,
            num_outputs=12,
            num_classes=3,
            scores=scores,
            shapes=SHAPES[shapes],
        )
        trits = random_trits(net, 600, seed)
        assert np.array_equal(sim.evaluate(net, trits, engine=engine), net.evaluate(trits))
        got, expected = sim.classify(net, trits, engine=engine), net.classify(trits)
        for field in FIELDS:
            assert np.array_equal(getattr(got, field), getattr(expected, field)), field


@pytest.mark.parametrize("scores", [False, True])
def test_engines_agree_from_features(engine, scores):
    net = random_nodes(
        5,
        num_inputs=8,
        num_gates=60,
        num_outputs=9,
        num_classes=3,
        scores=scores,
        with_encoder=True,
    )
    rng = np.random.default_rng(0)
    samples = rng.integers(-40, 300, (600, 4)).astype(np.float64)
    samples[rng.random(samples.shape) < 0.1] = np.nan
    got = sim.classify(net, samples, engine=engine)
    expected = net.classify(net.encoder.encode(samples))
    for field in FIELDS:
        assert np.array_equal(getattr(got, field), getattr(expected, field)), field


def test_every_function_of_four_bits(engine):
    # Bit r of a gate's number is its value on row r.
    table = 2 * (np.arange(1 << 16)[:, None] >> np.arange(16) & 1) - 1
    sources = np.tile(np.arange(4), (1 << 16, 1))
    outputs = 4 + np.arange(1 << 16)
    net = Netlist(4, table, sources, outputs, np.full(4 + (1 << 16), Kind.BIT))
    rows = row_values([Kind.BIT] * 4)
    assert np.array_equal(sim.evaluate(net, rows, engine=engine), table.T)


def test_random_functions_of_six_bits_and_of_three_trits_on_every_row(engine):
    rng = np.random.default_rng(0)
    for kind, num_inputs in ((Kind.BIT, 6), (Kind.TRIT, 3)):
        rows = row_values([kind] * num_inputs)
        table = rng.choice(kind.values, (500, len(rows)))
        sources = np.tile(np.arange(num_inputs), (500, 1))
        net = Netlist(
            num_inputs,
            *(table, sources, num_inputs + np.arange(500)),
            np.full(num_inputs + 500, kind),
        )
        assert np.array_equal(sim.evaluate(net, rows, engine=engine), table.T)


def test_unknown_is_no_bit(engine):
    net = random_nodes(0, num_inputs=4, num_gates=5, num_outputs=2)
    trits = random_trits(net, 10)
    trits[3, 1] = 0
    with pytest.raises(DataError, match=r"^Inputs hold other values than -1, \+1$"):
        sim.evaluate(net, trits, engine=engine)

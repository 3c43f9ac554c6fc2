import dataclasses
import re
import shutil
import subprocess
import sys
import threading
import weakref
from itertools import product

import numpy as np
import pytest
from circuits import random_netlist
from hypothesis import given, settings
from hypothesis import strategies as st

from trilut import DataError, Encoder, Feature, FeatureVectors, Head, Netlist, ToolError, sim
from trilut.circuit.limits import MAX_INTEGER
from trilut.sim.engines import fast, machine, native, planes
from trilut.sim.engines.program import Program

SIZES = [0, 1, 63, 64, 65, 511, 512, 513]
FIELDS = ("scores", "chosen", "margin", "unknown")


@pytest.fixture(params=["C", "numpy"])
def kernel(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setenv("TRILUT_KERNEL", "numpy")
    return request.param


@st.composite
def netlists(draw, **settings):
    return random_netlist(
        draw(st.integers(0, 2**32 - 1)),
        num_inputs=draw(st.integers(1, 70)),
        num_gates=draw(st.integers(0, 200)),
        num_outputs=draw(st.integers(3, 150)),
        valence=draw(st.sampled_from([2, 3])),
        **settings,
    )


def random_trits(net, num_samples, seed=0):
    values = [-1, 1] if net.valence == 2 else [-1, 0, 1]
    return np.random.default_rng(seed).choice(values, (num_samples, net.num_inputs)).astype(np.int8)


def layered(width, num_layers, *, valence=3, num_inputs=100, seed=0):
    rng = np.random.default_rng(seed)
    sizes = [num_inputs, *[width] * num_layers]
    starts = np.cumsum([0, *sizes])
    reads = [
        start + rng.integers(0, size, (2, width))
        for start, size in zip(starts, sizes[:-1], strict=False)
    ]
    a, b = np.concatenate(reads, axis=1)
    values = [-1, 1] if valence == 2 else [-1, 0, 1]
    table = rng.choice(values, (width * num_layers, valence**2))
    return Netlist.of_gates(
        num_inputs, table, a, b, np.arange(starts[-2], starts[-1]), valence=valence
    )


def assert_same_decisions(got, expected):
    for field in FIELDS:
        assert np.array_equal(getattr(got, field), getattr(expected, field)), field
        assert getattr(got, field).dtype == getattr(expected, field).dtype


def test_this_machine_has_the_c_kernel():
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("cc is not installed")
    assert fast.kernel_name() == f"C, {native.library().path}"


@pytest.mark.parametrize("valence", [2, 3])
def test_every_function_of_two_inputs(kernel, valence):
    values = [-1, 1] if valence == 2 else [-1, 0, 1]
    rows = 2 ** (valence**2)
    bits = np.arange(rows)[:, None] >> np.arange(valence**2) & 1
    # Each plane takes every function: once as plus with minus the rest, once the other way round.
    tables = np.concatenate([2 * bits - 1, 1 - 2 * bits])
    if valence == 3:
        tables = np.concatenate([tables, bits, -bits])
    inputs = np.array([(a, b) for a in values for b in values])
    zeros = np.zeros(len(tables), dtype=int)
    net = Netlist.of_gates(2, tables, zeros, zeros + 1, 2 + np.arange(len(tables)), valence=valence)
    assert np.array_equal(sim.evaluate(net, inputs), tables.T)


def test_kernels_are_few_and_cheap():
    kernels = planes.kernels()
    assert len(kernels) == 102 + 16
    assert max(sum(map(kernel.expression.count, "&|^")) for kernel in kernels) == 5


@given(netlists(), st.sampled_from(SIZES), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=150)
def test_fast_equals_reference(net, num_samples, seed):
    trits = random_trits(net, num_samples, seed)
    outputs = sim.evaluate(net, trits)
    assert outputs.dtype == np.int8
    assert np.array_equal(outputs, net.evaluate(trits))


@given(netlists(), st.sampled_from(SIZES))
@settings(deadline=None, max_examples=50)
def test_numpy_kernel_equals_reference(net, num_samples):
    trits = random_trits(net, num_samples)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRILUT_KERNEL", "numpy")
        assert np.array_equal(sim.evaluate(net, trits), net.evaluate(trits))


@given(netlists(num_classes=3, with_encoder=True), st.sampled_from(SIZES), st.integers(0, 2**32))
@settings(deadline=None, max_examples=100)
def test_fast_classifies_as_the_reference(net, num_samples, seed):
    rng = np.random.default_rng(seed)
    samples = rng.uniform(-140, 280, (num_samples, len(net.encoder.features)))
    samples[rng.random(samples.shape) < 0.1] = np.nan
    samples[rng.random(samples.shape) < 0.05] = np.inf
    samples[rng.random(samples.shape) < 0.05] = -np.inf
    vectors = net.encoder.quantize(samples)
    expected = net.classify(net.encoder.trits(vectors))
    assert_same_decisions(sim.classify(net, samples), expected)
    assert_same_decisions(sim.classify(net, vectors), expected)


@given(netlists(), st.sampled_from(SIZES))
@settings(deadline=None, max_examples=15)
def test_jax_equals_reference(net, num_samples):
    trits = random_trits(net, num_samples)
    assert np.array_equal(sim.evaluate(net, trits, engine="jax"), net.evaluate(trits))


@pytest.mark.parametrize("num_samples", SIZES)
@pytest.mark.parametrize("valence", [2, 3])
def test_engines_agree_on_a_layered_net(num_samples, valence):
    net = layered(300, 3, valence=valence)
    trits = random_trits(net, num_samples)
    expected = sim.evaluate(net, trits, engine="lookup")
    assert np.array_equal(sim.evaluate(net, trits, engine="fast"), expected)
    assert np.array_equal(sim.evaluate(net, trits, engine="jax"), expected)


@pytest.mark.slow
@pytest.mark.parametrize("valence", [2, 3])
@pytest.mark.parametrize(("width", "num_samples"), [(32_000, 700), (128_000, 130)])
def test_engines_agree_on_a_large_net(valence, width, num_samples):
    net = layered(width, 4, valence=valence, num_inputs=2000)
    trits = random_trits(net, num_samples)
    expected = sim.evaluate(net, trits, engine="lookup")
    assert np.array_equal(sim.evaluate(net, trits, engine="fast"), expected)
    assert np.array_equal(sim.evaluate(net, trits, engine="jax"), expected)


def test_netlist_predicts_and_scores_by_itself():
    net = random_netlist(
        3, num_inputs=6, num_gates=40, num_outputs=9, num_classes=3, with_encoder=True
    )
    samples = np.random.default_rng(0).uniform(-8, 8, (100, 3))
    expected = net.classify(net.encoder.encode(samples))
    assert np.array_equal(net.predict(samples), expected.chosen)
    assert np.array_equal(net.scores(samples), expected.scores)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.int64, np.int16, np.bool_])
@pytest.mark.parametrize("bits", [1, 7, 8, 9, 17, 32])
@pytest.mark.parametrize("signed", [False, True])
def test_features_of_any_width_and_type(kernel, dtype, bits, signed):
    rng = np.random.default_rng(bits)
    features = tuple(
        Feature(f"f{number}", bits, signed=signed, scale=scale, offset=offset)
        for number, (scale, offset) in enumerate([(1, 0), (0.37, -3.2), (-2.5e4, 1e3), (1e9, 0.5)])
    )
    feature = np.arange(70) % 4
    # Some thresholds lie outside of what the feature can hold.
    limits = features[0].minimum - 2, features[0].maximum + 3
    low, high = np.sort(rng.integers(*limits, (2, 70)), axis=0)
    low[:4], high[:4] = limits[0], limits[1]
    encoder = Encoder(features, feature, low, high)
    net = Netlist.of_gates(
        70, [], [], [], np.arange(70), encoder=encoder, head=Head(("a", "b"), (30, 40))
    )
    samples = (rng.standard_normal((600, 4)) * 100).astype(dtype, casting="unsafe")
    expected = net.classify(encoder.encode(samples))
    assert_same_decisions(sim.classify(net, samples), expected)


def test_product_is_rounded_before_the_sum():
    # With a fused multiply and add, 0.1 · 10 − 1 is 5.6e-17 and not 0.
    feature = Feature("x", 8, signed=True, scale=10.0, offset=-1.0)
    low = np.array([0, 0])
    encoder = Encoder((feature,), np.array([0, 0]), low, low)
    net = Netlist.of_gates(2, [], [], [], [0, 1], encoder=encoder, head=Head(("a", "b"), (1, 1)))
    samples = np.linspace(-0.3, 0.3, 601)[:, None]
    assert_same_decisions(sim.classify(net, samples), net.classify(encoder.encode(samples)))


def test_feature_vectors_beyond_their_width():
    net = random_netlist(
        5, num_inputs=8, num_gates=30, num_outputs=9, num_classes=3, with_encoder=True
    )
    rng = np.random.default_rng(0)
    shape = (100, len(net.encoder.features))
    vectors = FeatureVectors(rng.integers(-1000, 1000, shape), rng.random(shape) < 0.8)
    assert_same_decisions(sim.classify(net, vectors), net.classify(net.encoder.trits(vectors)))


@pytest.mark.parametrize("sizes", [(1, 1), (3, 4), (7, 9), (16, 200), (1000, 1), (513, 2048)])
@pytest.mark.parametrize("valence", [2, 3])
def test_groups_of_any_size(kernel, sizes, valence):
    rng = np.random.default_rng(0)
    outputs = rng.integers(0, 10, sum(sizes))
    head = Head(("a", "b"), sizes, abstain_margin=3)
    net = Netlist.of_gates(10, [], [], [], outputs, valence=valence, head=head)
    trits = random_trits(net, 700)
    trits[0], trits[1] = 1, -1
    assert_same_decisions(sim.classify(net, trits), net.classify(trits))
    assert np.array_equal(sim.scores(net, trits), net.classify(trits).scores)
    assert np.array_equal(sim.predict(net, trits), net.classify(trits).chosen)


@pytest.mark.parametrize("margin", [4, 1 << 31, 1 << 32, MAX_INTEGER])
def test_a_margin_that_nothing_reaches_always_abstains(kernel, margin):
    net = Netlist.of_gates(
        2, [], [], [], [0, 1], head=Head(("a", "b"), (1, 1), abstain_margin=margin)
    )
    trits = list(product((-1, 0, 1), repeat=2))
    assert net.classify(trits).unknown.all()
    assert_same_decisions(sim.classify(net, trits), net.classify(trits))


@pytest.mark.parametrize("margin", [1 << 63, -(1 << 63) - 1])
def test_no_integer_wraps_on_its_way_to_the_kernel(margin):
    with pytest.raises(
        OverflowError, match=rf"^Head\.abstain_margin is {margin}, more than 64 bits$"
    ):
        native.Head(num_classes=2, abstain_margin=margin)


def test_encoder_does_not_change_what_trits_mean():
    # The encoder never makes (−1, +1), but evaluate takes any trits.
    encoder = Encoder((Feature("x", 4),), np.array([0, 0]), np.array([3, 9]), np.array([3, 9]))
    net = random_netlist(1, num_inputs=2, num_gates=20, num_outputs=5)
    both = Netlist.of_gates(2, net.table, net.a, net.b, net.outputs, encoder=encoder)
    trits = np.array([(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)])
    assert np.array_equal(sim.evaluate(both, trits), both.evaluate(trits))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_and_progress(kernel, threads, monkeypatch):
    monkeypatch.setattr(machine, "_NUMPY_STEP", 512)
    net = random_netlist(
        2, num_inputs=8, num_gates=50, num_outputs=9, num_classes=3, with_encoder=True
    )
    samples = np.random.default_rng(0).uniform(-10, 40, (9000, len(net.encoder.features)))
    monkeypatch.setattr(fast, "_PIECE_SAMPLES", 1024)
    seen = []
    decisions = sim.classify(
        net, samples, threads=threads, progress=lambda done, total: seen.append((done, total))
    )
    assert_same_decisions(decisions, net.classify(net.encoder.encode(samples)))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert len(seen) >= 9
    assert seen[-1] == (9000, 9000)


@pytest.mark.parametrize("threads", [1, 2])
def test_error_in_a_late_piece(kernel, threads, monkeypatch):
    monkeypatch.setattr(fast, "_PIECE_SAMPLES", 512)
    net = random_netlist(0, num_inputs=3, num_gates=4, num_outputs=2)
    for dtype, wrong in ((np.int8, 2), (np.int8, -2), (np.float64, 0.5), (np.int64, 257)):
        trits = np.zeros((5000, 3), dtype=dtype)
        trits[4321, 2] = wrong
        with pytest.raises(DataError, match=r"^Inputs hold other values than -1, \+0, \+1$"):
            sim.evaluate(net, trits, threads=threads)


def test_interrupt_stops_the_other_pieces(monkeypatch):
    monkeypatch.setattr(fast, "_PIECE_SAMPLES", 512)
    net = random_netlist(0, num_inputs=3, num_gates=4, num_outputs=2)

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sim.evaluate(net, np.zeros((5000, 3)), threads=2, progress=interrupt)


def test_views_of_larger_arrays():
    net = random_netlist(0, num_inputs=3, num_gates=9, num_outputs=2)
    trits = random_trits(random_netlist(0, num_inputs=8, num_gates=0, num_outputs=1), 100)
    for view in (trits[::2, 1:4], trits[:, ::3], np.asfortranarray(trits)[:, :3]):
        assert np.array_equal(sim.evaluate(net, view), net.evaluate(view))


def test_no_threads():
    net = random_netlist(0, num_inputs=3, num_gates=4, num_outputs=2)
    with pytest.raises(ValueError, match=r"^Number of threads is 0, expected at least 1$"):
        sim.evaluate(net, [[1, 0, 1]], threads=0)


@pytest.mark.parametrize(
    ("shape", "valid", "message"),
    [
        ((5, 3), (5, 3), "Feature vectors have values of shape (5, 3), expected (5, 2)"),
        ((5, 2), (4, 2), "Feature vectors have valid bits of shape (4, 2), expected (5, 2)"),
    ],
)
def test_feature_vectors_of_another_shape(shape, valid, message):
    net = random_netlist(
        0, num_inputs=4, num_gates=4, num_outputs=2, num_classes=2, with_encoder=True
    )
    vectors = FeatureVectors(np.zeros(shape, dtype=np.int64), np.ones(valid, dtype=np.bool_))
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        sim.classify(net, vectors)


def test_samples_of_another_shape():
    net = random_netlist(
        0, num_inputs=4, num_gates=4, num_outputs=2, num_classes=2, with_encoder=True
    )
    for name in sim.ENGINES:
        with pytest.raises(
            DataError,
            match=r"^Samples have shape \(1, 3\), expected \(samples, 2\) "
            r"for the features 'f0', 'f1'$",
        ):
            sim.classify(net, [[1.0, 2.0, 3.0]], engine=name)


def test_program_is_made_once_and_not_kept():
    net = random_netlist(0, num_inputs=3, num_gates=4, num_outputs=2)
    sim.evaluate(net, [[1, 0, 1]])
    assert fast.machine_of(net) is fast.machine_of(net)
    alive = weakref.ref(net)
    del net
    assert alive() is None


def test_planes_are_used_again():
    net = layered(4000, 4)
    program = Program.of(net)
    assert program.num_planes < 2 * net.num_gates
    assert len(set(program.operands[:, 2].tolist())) < program.num_instructions


def test_many_threads_prepare_one_netlist():
    net = random_netlist(7, num_inputs=9, num_gates=300, num_outputs=5)
    trits = random_trits(net, 1000)
    expected = net.evaluate(trits)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(sim.evaluate(net, trits, threads=1)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all(np.array_equal(result, expected) for result in results)


def fresh_library(monkeypatch, directory, **variables):
    monkeypatch.setattr(native, "_loaded", None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(directory))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def failing_compiler(directory, text):
    script = directory / "failing-cc"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    return str(script)


def test_library_is_compiled_once(tmp_path, monkeypatch):
    fresh_library(monkeypatch, tmp_path)
    path = native.library().path
    assert path.parent == tmp_path / "trilut"
    made = path.stat().st_mtime_ns
    monkeypatch.setattr(native, "_loaded", None)
    assert native.library().path == path
    assert path.stat().st_mtime_ns == made
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_portable_kernel(tmp_path, monkeypatch):
    # The kernel as it is where there is no AVX2.
    fresh_library(monkeypatch, tmp_path, CC="cc -U__AVX2__")
    for bits, valence in product((8, 20), (2, 3)):
        net = layered(200, 2, valence=valence, num_inputs=90)
        features = tuple(Feature(f"f{number}", bits) for number in range(30))
        middle = np.random.default_rng(0).integers(5, 250, 90)
        high = middle + 3 * (valence - 2)
        encoder = Encoder(
            features, np.arange(90) % 30, middle, high, missing=0 if valence == 3 else -1
        )
        head = Head(("a", "b"), (93, 107))
        net = dataclasses.replace(net, encoder=encoder, head=head)
        samples = np.random.default_rng(1).uniform(0, 256, (700, 30))
        samples[::3, ::7] = np.nan
        trits = encoder.encode(samples)
        assert np.array_equal(sim.evaluate(net, trits), sim.evaluate(net, trits, engine="lookup"))
        assert_same_decisions(sim.classify(net, samples), net.classify(trits))
        octets = samples[np.isfinite(samples).all(axis=1)].astype(np.uint8)
        assert_same_decisions(sim.classify(net, octets), net.classify(encoder.encode(octets)))


def test_no_compiler(tmp_path, monkeypatch):
    fresh_library(monkeypatch, tmp_path, PATH=str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    message = "Cannot find a C compiler in PATH; install gcc or clang, or set CC"
    with pytest.raises(ToolError, match=f"^{message}$"):
        native.library()
    assert fast.kernel_name() == f"numpy: {message}"
    net = random_netlist(3, num_inputs=5, num_gates=20, num_outputs=4)
    trits = random_trits(net, 100)
    assert np.array_equal(sim.evaluate(net, trits), net.evaluate(trits))


def test_compiler_that_is_not_there(tmp_path, monkeypatch):
    fresh_library(monkeypatch, tmp_path, CC="no-such-cc -m64")
    with pytest.raises(
        ToolError, match=r"^Cannot find the C compiler 'no-such-cc -m64' that CC names$"
    ):
        native.library()


def test_compiler_that_fails(tmp_path, monkeypatch):
    script = failing_compiler(tmp_path, 'echo "kernel.c: error: no headers" >&2; exit 3')
    fresh_library(monkeypatch, tmp_path, CC=script)
    message = (
        f"{script!r} cannot compile the simulator's kernel (status 3): kernel.c: error: no headers"
    )
    with pytest.raises(ToolError, match=f"^{re.escape(message)}$"):
        native.library()
    assert list((tmp_path / "trilut").iterdir()) == []


def test_compiler_that_hangs(tmp_path, monkeypatch):
    script = failing_compiler(tmp_path, "exec sleep 600")
    fresh_library(monkeypatch, tmp_path, CC=script)
    monkeypatch.setattr(native, "_TIMEOUT_SECONDS", 0.5)
    with pytest.raises(ToolError, match=f"^{re.escape(repr(script))} took longer than 0.5 s$"):
        native.library()


def test_compiler_that_is_no_program(tmp_path, monkeypatch):
    garbage = tmp_path / "cc"
    garbage.write_bytes(b"\x00\x01")
    garbage.chmod(0o755)
    fresh_library(monkeypatch, tmp_path, CC=str(garbage))
    message = f"Cannot run {str(garbage)!r}: Exec format error"
    with pytest.raises(ToolError, match=f"^{re.escape(message)}$"):
        native.library()
    assert fast.kernel_name() == f"numpy: {message}"


def test_library_that_cannot_be_loaded(tmp_path, monkeypatch):
    script = failing_compiler(
        tmp_path,
        'while [ "$1" != -o ] && [ $# -gt 0 ]; do shift; done; echo no > "${2:-/dev/null}"',
    )
    fresh_library(monkeypatch, tmp_path, CC=script)
    with pytest.raises(ToolError, match=r"^Cannot load '.*/kernel-[0-9a-f]{16}\.so': .*$"):
        native.library()


def test_kernel_switched_off(monkeypatch):
    monkeypatch.setenv("TRILUT_KERNEL", "numpy")
    with pytest.raises(ToolError, match=r"^TRILUT_KERNEL is 'numpy', so the C kernel is not used$"):
        native.library()


def test_cache_that_cannot_be_written(tmp_path, monkeypatch):
    # A file where the directory should be stops even the superuser.
    (tmp_path / "trilut").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    directory = native._cache_directory()
    assert directory.name.startswith("trilut-")
    directory.rmdir()


def test_engine_without_jax():
    code = (
        "import sys; sys.modules['jax'] = None\n"
        "from trilut import Netlist, ToolError, sim\n"
        "net = Netlist.of_gates(1, [], [], [], [0])\n"
        "assert sim.evaluate(net, [[1]]).tolist() == [[1]]\n"
        "try: sim.evaluate(net, [[1]], engine='jax')\n"
        "except ToolError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Cannot find the Python package jax; install trilut[training]\n"

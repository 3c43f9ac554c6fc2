"""Every kind of netlist, as committed in tests/regression, through every implementation."""

import json

import numpy as np
import pytest
from regression.make import EXPECTED, HERE, KINDS, reference_digest, vectors

from trilut import load, sim
from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.optimize import optimize
from trilut.hdl import HardwareOptions

FIELDS = ("scores", "chosen", "margin", "unknown")
# The others are for `make test-all`: each takes the C++ compiler several seconds.
QUICK = ("ternary_two_classes", "missing_features", "zero_gates")


def netlist(name):
    return load(HERE / f"{name}.trilut")


def test_every_file_is_a_kind():
    assert {path.stem for path in HERE.glob("*.trilut")} == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_the_meaning_stays(name):
    assert reference_digest(netlist(name)) == json.loads(EXPECTED.read_text())[name]


@pytest.mark.parametrize("name", KINDS)
def test_engines_agree(name):
    net = netlist(name)
    for circuit in (net, optimize(net).netlist):
        for group in vectors(net).values():
            expected = sim.classify(net, group, engine="reference")
            for engine in sim.ENGINES:
                got = sim.classify(circuit, group, engine=engine)
                for field in FIELDS:
                    np.testing.assert_array_equal(getattr(got, field), getattr(expected, field))


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in KINDS],
)
def test_hardware_agrees(name):
    net = netlist(name)
    inputs = FeatureVectors.concatenate(list(vectors(net).values()))
    expected = sim.classify(net, inputs, engine="reference")
    got = net.rtl(HardwareOptions(pipeline=1, scores=True)).classify(inputs)
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(got, field), getattr(expected, field))

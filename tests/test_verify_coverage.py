import numpy as np
import pytest
from circuits import random_netlist

from trilut.circuit.reach import observed_rows, reachable_rows
from trilut.sim import all_inputs
from trilut.verify.coverage import measure_coverage


@pytest.mark.parametrize("valence", [2, 3])
def test_directed_vectors_cover_every_row_that_can_occur(valence):
    net = random_netlist(2, num_inputs=5, num_gates=30, num_outputs=3, valence=valence)
    nothing = np.empty((0, 5), dtype=np.int8)
    coverage, directed = measure_coverage(net, {"none": nothing}, max_questions=1000)
    trits = np.array(list(all_inputs(net)), dtype=np.int8).reshape(-1, 5)
    occurring = observed_rows(net, trits)
    assert coverage.num_rows == coverage.num_covered == occurring.sum()
    assert coverage.num_proven_unreachable == (reachable_rows(net) & ~occurring).sum()
    assert np.array_equal(observed_rows(net, directed), occurring)
    assert coverage.share == 1.0
    assert coverage.num_directed == len(directed) < occurring.sum()


def test_what_is_not_covered_is_named():
    net = random_netlist(0, num_inputs=3, num_gates=2, num_outputs=1)
    vectors = {"one": np.zeros((1, 3), dtype=np.int8)}
    coverage, directed = measure_coverage(net, vectors, max_questions=0)
    assert directed is None
    assert coverage.num_covered == 2
    assert coverage.uncovered[0][0] == 0
    assert coverage.share == 2 / coverage.num_rows


def test_features_are_directed_too():
    net = random_netlist(3, num_inputs=6, num_gates=20, num_outputs=3, with_encoder=True)
    nothing = net.encoder.quantize(np.empty((0, 3)))
    coverage, directed = measure_coverage(net, {"none": nothing}, max_questions=1000)
    # Three features are few enough for the reachable rows to be exact.
    assert coverage.num_proven_unreachable == 0
    rows = observed_rows(net, net.encoder.trits(directed))
    assert np.array_equal(rows, reachable_rows(net))

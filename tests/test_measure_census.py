import dataclasses
import json
import math

import numpy as np
import pytest
from circuits import random_netlist

from trilut import save
from trilut.circuit.gates import gate_id, gate_table, num_gates, parse_gate
from trilut.cli import main
from trilut.measure.analysis import (
    analyze,
    band_energy,
    complexity,
    gate_landscape,
    gate_properties,
    initial_gates,
    is_threshold,
    layer_profile,
    random_gates,
    take_census,
    term_energy,
)
from trilut.report.analysis import analysis_tables, gate_rows
from trilut.report.summary import gate_facts

ALL = np.arange(num_gates())


def test_census_of_known_gates():
    gates = np.array([5, 5, 5, 5, 9, 9, 7, 8])
    census = take_census(gates)
    assert (census.gates, census.unique, census.max_copies, census.singletons) == (8, 4, 4, 2)
    assert census.redundancy == 0.5
    entropy = 0.5 * math.log(2) + 0.25 * math.log(4) + 0.25 * math.log(8)
    assert census.effective == pytest.approx(math.exp(entropy))
    # The mean difference of two copies, (3 + 3 + 2 + 1 + 1)·2 / 16, over twice the mean of 2.
    assert census.gini == pytest.approx(10 * 2 / 16 / 4)


def test_equal_copies_have_full_diversity_and_no_gini():
    census = take_census(np.repeat(np.arange(100), 3))
    assert census.effective == pytest.approx(100)
    assert census.gini == pytest.approx(0)


def test_no_gates():
    with pytest.raises(ValueError, match=r"^There are no gates to count$"):
        take_census(np.zeros(0, dtype=np.int64))


def test_terms_and_bands_share_out_the_energy():
    census = take_census(random_gates(500))
    assert sum(census.bands.values()) == pytest.approx(1)
    assert np.sum(census.terms) == pytest.approx(1)
    assert sum(census.spectral.values()) == pytest.approx(1)


@pytest.mark.parametrize("valence", [2, 3])
def test_energy_is_the_mean_square(valence):
    tables = gate_table(np.arange(num_gates(valence)), valence)
    assert np.allclose(term_energy(tables, valence).sum(axis=(1, 2)), (tables**2).mean(axis=1))
    assert np.allclose(band_energy(tables, valence).sum(axis=1), (tables**2).mean(axis=1))


def test_energy_of_a_product_is_quadratic():
    assert np.allclose(band_energy(gate_table(parse_gate("xnor"))), [0, 0, 4 / 9, 0, 0])
    assert complexity(gate_table(parse_gate("xnor"))) == pytest.approx(1)


def test_binary_gates_have_no_ternary_classes():
    census = take_census(np.arange(16), valence=2)
    assert (census.unique, census.named, dict(census.classes)) == (16, None, {})
    assert list(census.bands) == ["constant", "linear", "quadratic"]


def test_paper_diversity_is_that_of_untrained_gates():
    # 1,736 neurons, as on its synthetic tasks, where it reports about 1,200 different gates,
    # an effective diversity of about 1,050 and 28–31 % redundancy after training.
    censuses = [take_census(initial_gates(1736, seed=seed)) for seed in range(5)]
    assert np.mean([c.unique for c in censuses]) == pytest.approx(1184, abs=15)
    assert np.mean([c.effective for c in censuses]) == pytest.approx(992, abs=25)
    assert np.mean([c.redundancy for c in censuses]) == pytest.approx(0.318, abs=0.01)


def test_profile_goes_level_by_level():
    netlist = random_netlist(0, num_inputs=3, num_gates=40, num_outputs=2)
    profile = np.array([list(level.values()) for level in layer_profile(netlist)])
    assert profile.shape == (netlist.depth, 5)
    assert np.allclose(profile.sum(axis=1), 1)
    first = netlist.table[netlist.levels[3:] == 1].astype(float)
    expected = band_energy(first).sum(axis=0)
    assert np.allclose(profile[0], expected / expected.sum())


def test_circuit_stands_beside_random_gates():
    netlist = random_netlist(0, num_inputs=3, num_gates=40, num_outputs=2)
    netlist = dataclasses.replace(netlist, table=np.tile(netlist.table[0], (40, 1)))
    analysis = analyze(netlist)
    assert analysis is not None
    assert (analysis.census.unique, analysis.control.unique) == (1, 40)
    census, terms, levels = analysis_tables(analysis)
    rows = {name: cells for name, *cells in census.rows}
    assert rows["different gates"] == ["1", "40", "40"]
    controls = (random_gates(40), initial_gates(40))
    expected = [f"{100 * is_threshold()[gates].mean():.2f} %" for gates in controls]
    assert rows["gates, threshold"][1:] == expected
    assert [row[0] for row in terms.rows] == ["1", "a", "φ2(a)"]
    shares = [float(cell.removesuffix(" %")) for row in terms.rows for cell in row[1:]]
    assert sum(shares) == pytest.approx(100, abs=0.05)
    assert len(levels.rows) == netlist.depth


def test_vocabulary_counts_names_not_copies():
    gates = [parse_gate(name) for name in ("and", "and", "or")]
    census = take_census(np.array([*gates, 4000]))
    assert (census.names, census.named) == (2, 0.75)


def test_gates_that_occur_equally_often_are_not_unequal():
    assert take_census(np.arange(80)).gini == 0


@pytest.mark.parametrize(
    ("gate", "text"),
    [
        ("and", "0.5·a + 0.5·b + 0.5·ab − 0.5·a² − 0.5·b² + 0.5·a²b²"),
        ("xor", "−ab"),
        ("000000000", "0"),
        ("a", "a"),
    ],
)
def test_polynomial_is_written_as_one(gate, text):
    number = parse_gate(gate)
    assert gate_rows(gate_facts(number) | gate_properties(number))["polynomial"] == text


def test_circuit_without_gates_has_no_analysis():
    assert analyze(random_netlist(0, num_inputs=3, num_gates=0, num_outputs=2)) is None


def test_map_has_every_gate_and_the_named_ones():
    gates = np.array([11, 11, 11, 4000, 4001])
    landscape = gate_landscape(gates, "hamming")
    copies = dict(zip(landscape.gates.tolist(), landscape.copies.tolist(), strict=True))
    assert (copies[11], copies[4000], copies[4001], copies[parse_gate("and")]) == (3, 1, 1, 0)
    assert len(copies) == 3 + 18


def test_fourier_map_is_as_good_as_principal_components():
    # Of Euclidean distances, classical scaling is the projection on the two widest directions.
    gates = np.unique(random_gates(300, seed=1))
    landscape = gate_landscape(gates, "fourier")
    spread = np.sort(landscape.position.var(axis=0))
    from trilut.circuit.gates import fourier_spectrum

    points = fourier_spectrum(gate_table(landscape.gates)).reshape(-1, 9)
    widest = np.linalg.eigvalsh(np.cov(points.T, bias=True))[-2:]
    assert np.allclose(spread, widest)


@pytest.mark.parametrize("metric", ["hamming", "fourier"])
def test_map_is_repeatable_and_places_all(metric):
    gates = random_gates(3000, seed=3)
    first, second = gate_landscape(gates, metric), gate_landscape(gates, metric)
    assert np.array_equal(first.position, second.position)
    assert np.isfinite(first.position).all()
    assert first.fit > 0.3


def test_info_shows_the_analysis(tmp_path, capsys):
    netlist = random_netlist(0, num_inputs=4, num_gates=20, num_outputs=6)
    save(netlist, tmp_path / "net.trilut")
    assert main(["info", str(tmp_path / "net.trilut"), "--json"]) == 0
    analysis = json.loads(capsys.readouterr().out)["analysis"]
    assert analysis["census"]["unique"] == len(np.unique(gate_id(netlist.table)))
    assert len(analysis["layers"]) == netlist.depth
    assert main(["info", str(tmp_path / "net.trilut"), "--gates"]) == 0
    assert "random gates" in capsys.readouterr().out


def test_gate_shows_its_classes(capsys):
    assert main(["gate", "or", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["spectral_class"] == "higher"
    assert facts["classes"] == ["can be UNKNOWN", "monotone", "information-monotone"]

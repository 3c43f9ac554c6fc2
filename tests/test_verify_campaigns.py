from dataclasses import replace

import numpy as np
import pytest
from circuits import monotone_netlist, random_netlist, random_nodes

from trilut import Head, Netlist, sim
from trilut.circuit.encoder import FeatureVectors
from trilut.hdl import HardwareOptions, write_verilog
from trilut.verify.campaigns import flip_survey, mutation_campaign
from trilut.verify.mutants import Mutant, MutantProof, Verdict, draw_mutants


@pytest.fixture(scope="module")
def netlist():
    return random_netlist(
        11, num_inputs=8, num_gates=24, num_outputs=9, num_classes=3, with_encoder=True
    )


@pytest.fixture(scope="module")
def design(netlist, tmp_path_factory):
    return write_verilog(
        netlist, tmp_path_factory.mktemp("design"), HardwareOptions(pipeline=1, scores=True)
    )


@pytest.fixture(scope="module")
def vectors(netlist):
    groups = sim.stimulus(netlist, None, np.random.default_rng(0), num_random=500)
    return FeatureVectors.concatenate(list(groups.values()))


def test_mutants_are_different_wrong_entries(netlist):
    mutants = draw_mutants(netlist, 10_000, np.random.default_rng(0))
    assert len(mutants) == len({(m.gate, m.inputs) for m in mutants}) == 9 * netlist.num_gates
    for mutant in mutants:
        a, b = mutant.inputs
        assert netlist.table[mutant.gate, 3 * (a + 1) + b + 1] != mutant.value


def test_each_mutant_is_killed_missed_or_equivalent(tmp_path):
    # Without a head, whatever is wrong comes out.
    netlist = random_netlist(12, num_inputs=6, num_gates=20, num_outputs=6)
    design = write_verilog(netlist, tmp_path)
    circuit = design.classifier.netlist
    mutants = draw_mutants(circuit, 10_000, np.random.default_rng(1))
    everything = np.concatenate(list(sim.all_inputs(circuit)))
    few = np.random.default_rng(0).choice(everything, 20, replace=False)
    # Of several regressions each must see a mutant.
    result = mutation_campaign(design, mutants, everything, few, out=tmp_path / "few")
    complete = mutation_campaign(design, mutants, everything, out=tmp_path / "all")
    # What no input at all tells from the netlist is exactly what the proof says, and it says so
    # without the vectors.
    assert complete.missed == complete.hidden == ()
    assert complete.killed == complete.refused == result.refused
    assert result.num_faults == complete.num_faults == len(complete.killed) < len(mutants)
    assert set(result.killed) | set(result.missed) == set(complete.killed)
    assert result.kill_rate == len(result.killed) / len(complete.killed) < complete.kill_rate == 1


@pytest.mark.parametrize("scores", [False, True])
def test_mutants_of_gates_of_any_wires(scores, tmp_path):
    netlist = random_nodes(
        5, num_inputs=6, num_gates=9, num_outputs=4, num_classes=2, scores=scores
    )
    options = HardwareOptions(optimized=False, scores=True)
    design = write_verilog(netlist, tmp_path, options)
    mutants = draw_mutants(design.circuit, 10_000, np.random.default_rng(1))
    everything = np.concatenate(list(sim.all_inputs(design.circuit)))
    result = mutation_campaign(design, mutants, everything, out=tmp_path)
    # All inputs were tried, so what is not seen cannot be.
    assert result.missed == ()
    assert 0 < len(result.killed) < len(mutants)
    assert set(result.killed) <= set(result.refused)


def test_the_proof_tells_equivalent_hidden_and_visible_mutants(tmp_path):
    minimum = np.array([-1, -1, -1, -1, 0, 0, -1, 0, 1], dtype=np.int8)
    inverse = np.array([1, 1, 1, 0, 0, 0, -1, -1, -1], dtype=np.int8)
    # Net 2 and its inverse, net 3, are never both TRUE, and come to nothing in the first score.
    netlist = Netlist.of_gates(
        2,
        np.stack([minimum, inverse, minimum]),
        np.array([0, 2, 2]),
        np.array([1, 2, 3]),
        np.array([2, 3, 4]),
        head=Head(("one", "other"), (2, 1)),
    )
    proof = MutantProof(
        write_verilog(netlist, tmp_path, HardwareOptions(optimized=False, scores=True))
    )
    assert proof.verdict(Mutant(2, (1, 1), -1)) is Verdict.EQUIVALENT
    assert proof.verdict(Mutant(0, (1, 1), -1)) is Verdict.HIDDEN
    assert proof.verdict(Mutant(1, (1, 1), 0)) is Verdict.VISIBLE
    # Nothing is left of the mutants before.
    assert proof.verdict(Mutant(0, (1, 1), -1)) is Verdict.HIDDEN


def test_what_is_certain_shows_mutants_that_the_scores_hide(tmp_path):
    minimum = np.array([-1, -1, -1, -1, 0, 0, -1, 0, 1], dtype=np.int8)
    inverse = np.array([1, 1, 1, 0, 0, 0, -1, -1, -1], dtype=np.int8)
    # Nets 2 and 3 come to nothing in the first score; if they are UNKNOWN, nothing is certain.
    netlist = Netlist.of_gates(
        2,
        np.stack([minimum, inverse]),
        np.array([0, 2]),
        np.array([1, 2]),
        np.array([2, 3, 0]),
        head=Head(("one", "other"), (2, 1)),
    )
    plain, sure = (
        write_verilog(
            netlist,
            tmp_path / name,
            HardwareOptions(optimized=False, scores=True, certain=certain),
        )
        for name, certain in (("plain", False), ("sure", True))
    )
    everything = np.concatenate(list(sim.all_inputs(netlist)))
    mutants = draw_mutants(netlist, 10_000, np.random.default_rng(0))
    expected = {}
    for mutant in mutants:
        table = netlist.table.copy()
        a, b = mutant.inputs
        table[mutant.gate, 3 * (a + 1) + b + 1] = mutant.value
        wrong, right = (
            each.classify(everything, certain=True)
            for each in (replace(netlist, table=table), netlist)
        )
        expected[mutant] = [
            not np.array_equal(getattr(wrong, name), getattr(right, name))
            for name in ("scores", "certain")
        ]
    assert {(False, False), (False, True), (True, True)} <= set(map(tuple, expected.values()))
    for design in (plain, sure):
        proof = MutantProof(design)
        for mutant, (scores, certain) in expected.items():
            shows = scores or (certain and design is sure)
            assert (proof.verdict(mutant) is Verdict.VISIBLE) == shows, mutant


@pytest.mark.slow
@pytest.mark.parametrize("num_classes", [2, 3])
def test_mutants_of_a_design_that_says_what_is_certain_and_sets(tmp_path, num_classes):
    net = monotone_netlist(
        2, num_inputs=6, num_gates=20, num_outputs=9, num_classes=num_classes, with_encoder=True
    )
    net = replace(net, head=replace(net.head, set_margin=1))
    options = HardwareOptions(scores=True, certain=True, prediction_set=True)
    design = write_verilog(net, tmp_path, options)
    mutants = draw_mutants(design.circuit, 10_000, np.random.default_rng(0))
    vectors = FeatureVectors.concatenate(list(sim.all_inputs(design.circuit)))
    result = mutation_campaign(design, mutants, vectors, out=tmp_path)
    # With all inputs, what is not seen cannot be.
    assert result.missed == ()
    assert len(result.killed) > 0
    assert set(result.killed) <= set(result.refused)


def test_every_register_bit_meets_every_vector(design, vectors, tmp_path):
    plans = [plan for plan in design.classifier.plans if plan.registered]
    part = vectors[:40]
    survey = flip_survey(design, part, out=tmp_path)
    assert survey.num_bits == sum(2 * len(plan.nets_out) for plan in plans)
    assert survey.num_flips == 40 * survey.num_bits
    assert survey.changed + survey.abstained + survey.masked == survey.num_flips
    assert survey.masked > 0
    assert survey.changed > 0


def test_a_sampled_survey_flips_so_many_bits(design, vectors, tmp_path):
    survey = flip_survey(design, vectors[:10], out=tmp_path, num_bits=5)
    assert (survey.num_bits, survey.num_flips) == (5, 50)


def test_faults_reach_layers_that_are_made_of_cells(netlist, vectors, tmp_path):
    options = HardwareOptions(pipeline=1, scores=True, sums="ecp5")
    design = write_verilog(netlist, tmp_path, options)
    mutants = draw_mutants(design.circuit, 20, np.random.default_rng(0))
    result = mutation_campaign(design, mutants, vectors, out=tmp_path)
    assert result.missed == ()
    assert 0 < len(result.killed) < len(mutants)
    survey = flip_survey(design, vectors[:10], out=tmp_path, num_bits=5)
    assert survey.num_flips == 50

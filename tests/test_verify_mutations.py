from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from circuits import random_netlist

from trilut import sim
from trilut.app.campaign import mutate_file
from trilut.errors import ToolError
from trilut.hdl import HardwareOptions, write_verilog
from trilut.report.mutants import mutant_table
from trilut.verify.cells import read_structure, write_structures
from trilut.verify.design_campaign import (
    DesignCampaign,
    KindResult,
    MutantResult,
    Opinion,
    kind_results,
)
from trilut.verify.kinds import DESIGN_KINDS, MutationKind
from trilut.verify.mutations import draw_mutations, mutations
from trilut.verify.proof.formal import prove_design

# One mistake of each kind and variant, by the end of what is said of it.
MISTAKES = {
    MutationKind.WIRES: ["layer_1.i[0] and [2] swapped"],
    MutationKind.PLANE: ["groupsum.i[1] inverted"],
    MutationKind.ADDER: ["groupsum.class_0_level_2[2] lost"],
    MutationKind.THRESHOLD: ["11 is 10", "11 is 12"],
    MutationKind.TIE: ["argmax._08_.Y[0]: equal counts as less"],
    MutationKind.ABSTAIN: ["unknown inverted", "unknown is 0"],
    MutationKind.REGISTER: [
        "argmax.chosen without its register",
        "argmax.chosen with a second register",
    ],
    MutationKind.RESET: [
        "control.full_0 deleted",
        "control.full_1 inverted",
        "control.full_1[0] to another value",
        "top.control.rst[0] deleted",
    ],
    MutationKind.CLOCK: [
        "top.argmax inverted",
        "top.groupsum gated by 'in_valid'",
        "top.control constant",
    ],
    MutationKind.ENABLE: ["top.groupsum is 1", "control.result_0 is 1", "top.argmax only with"],
    MutationKind.HANDSHAKE: [
        "Vector lost when out_ready[0] is 0",
        "Result doubled when in_valid[0] is 0",
        "out_class[0] does not hold",
    ],
    MutationKind.DRIVER: ["out_unknown[0] driven by 'in_valid' too"],
}

# The highest bit of this sum never leaves it.
UNREAD = "groupsum._07_[4] lost"


@pytest.fixture(scope="module")
def design(tmp_path_factory):
    netlist = random_netlist(
        21, num_inputs=4, num_gates=10, num_outputs=6, num_classes=3, with_encoder=True
    )
    return write_verilog(
        netlist, tmp_path_factory.mktemp("design"), HardwareOptions(pipeline=1, sums="generic")
    )


@pytest.fixture(scope="module")
def structure(design, tmp_path_factory):
    return read_structure(design, tmp_path_factory.mktemp("structure"))


def chosen(structure, kind, text):
    return next(each for each in mutations(structure, kind) if text in each.text)


@pytest.fixture(scope="module")
def mutants(design, structure, tmp_path_factory):
    """Write a mutant for each mistake, and the design as it was."""
    work = tmp_path_factory.mktemp("mutants")
    paths = {None: work / "right.v"}
    structures = {paths[None]: structure}
    for kind, texts in (*MISTAKES.items(), (MutationKind.ADDER, [UNREAD])):
        for text in texts:
            paths[kind, text] = work / f"mutant_{len(paths)}.v"
            structures[paths[kind, text]] = mutant = structure.copy()
            chosen(structure, kind, text).change(mutant.editor())
    write_structures(structures, work)
    return paths


def is_proven(design, path):
    try:
        proof = prove_design(design.netlist, replace(design, path=path), path.parent)
    except ToolError:
        return False
    return proof.passed


def test_a_design_without_a_mutation_is_proven(design, mutants):
    assert is_proven(design, mutants[None])


def test_a_mutation_that_changes_nothing_is_proven(design, mutants):
    assert is_proven(design, mutants[MutationKind.ADDER, UNREAD])


@pytest.fixture(scope="module")
def axi(tmp_path_factory):
    netlist = random_netlist(
        21, num_inputs=4, num_gates=10, num_outputs=6, num_classes=3, with_encoder=True
    )
    options = HardwareOptions(axi_beat_bits=8, margin_port=True, sums="generic")
    return write_verilog(netlist, tmp_path_factory.mktemp("axi"), options)


AXI_MISTAKES = {
    MutationKind.WIRES: "loader.beat[0] and [2] swapped",
    MutationKind.RESET: "loader.count deleted",
    MutationKind.CLOCK: "top.loader inverted",
    MutationKind.HANDSHAKE: "'s_axis_tready' a cycle late",
}


def test_mistakes_between_streams_are_refused(axi, tmp_path):
    structure = read_structure(axi, tmp_path)
    structures = {tmp_path / "right.v": structure}
    for number, (kind, text) in enumerate(AXI_MISTAKES.items()):
        texts = [each.text for each in mutations(structure, kind)]
        assert any(text in each for each in texts), texts
        structures[tmp_path / f"mutant_{number}.v"] = mutant = structure.copy()
        chosen(structure, kind, text).change(mutant.editor())
    write_structures(structures, tmp_path)
    right, *wrong = structures
    assert is_proven(axi, right)
    assert not any(is_proven(axi, path) for path in wrong)


def test_every_kind_has_mistakes():
    assert set(MISTAKES) == set(DESIGN_KINDS)


@pytest.mark.parametrize("kind", DESIGN_KINDS)
def test_mistakes_are_refused(design, mutants, kind):
    for text in MISTAKES[kind]:
        path = mutants[kind, text]
        assert path.read_text() != mutants[None].read_text()
        assert not is_proven(design, path), text


def test_draws_are_different_and_the_same_for_a_seed(structure):
    texts = [
        [each.text for each in draw_mutations(structure, DESIGN_KINDS, 5, np.random.default_rng(0))]
        for _ in range(2)
    ]
    assert texts[0] == texts[1]
    assert len(set(texts[0])) == len(texts[0]) == 5 * len(DESIGN_KINDS) - 2


@pytest.mark.slow
def test_a_campaign_simulates_and_proves_each_mutant(design, structure, tmp_path):
    mistakes = [
        (MutationKind.PLANE, "groupsum.i[1] inverted"),
        (MutationKind.HANDSHAKE, "out_class[0] does not hold"),
    ]
    drawn = [chosen(structure, *mistake) for mistake in mistakes]
    vectors = sim.stimulus(design.netlist, None, np.random.default_rng(0), num_random=200)
    results = list(DesignCampaign(design, drawn, {0: vectors}, tmp_path).results())
    assert [(each.is_killed, each.opinion) for each in results] == [(True, Opinion.REFUSED)] * 2
    assert [each.text for each in results] == [each.text for each in drawn]
    assert [each.is_equivalent for each in results] == [False, False]


def mutant(text, *, killed=False, proven=False, equivalent=False, hidden=False):
    opinion = Opinion.PROVEN if proven else Opinion.REFUSED
    return MutantResult(MutationKind.TIE, text, killed, opinion, "", equivalent, hidden)


def test_counts_of_a_kind():
    results = [
        mutant("seen", killed=True),
        mutant("missed"),
        mutant("fooled", killed=True, proven=True),
        mutant("same", proven=True, equivalent=True),
        mutant("hidden", hidden=True),
    ]
    (counts,) = kind_results(results)
    assert counts == KindResult("tie", 5, 1, 2, 3, 1, ("missed",), ("fooled",))
    table = mutant_table("Mutants", [counts])
    assert table.rows == (("tie", "5", "1", "1", "2 of 3", "3 of 4"),)
    assert table.notes == ("Proven though wrong, tie: fooled", "Missed by rtl, tie: missed")


@pytest.mark.slow
def test_wrong_entries_of_a_design_between_streams(monkeypatch):
    path = Path(__file__).parent / "regression" / "several_output_layers.trilut"
    options = HardwareOptions(axi_beat_bits=8, presence_bits=False, margin_port=True)
    kept = []
    settings = {"count": 4, "num_random": 100, "num_seeds": 2, "options": options}
    results = mutate_file(path, [MutationKind.TABLE], keep=kept.append, **settings)
    assert results == kept
    (counts,) = kind_results(results)
    assert counts.num_mutants == 4
    assert counts.num_refused == counts.num_faults
    # What is known is not tried again.
    monkeypatch.setattr("trilut.verify.campaigns.mutation_campaign", None)
    again = mutate_file(path, [MutationKind.TABLE], known=results, keep=kept.append, **settings)
    assert again == kept == results


def test_known_mutants_of_a_design_are_not_tried_again(design, structure, tmp_path, monkeypatch):
    kinds = [MutationKind.TIE, MutationKind.DRIVER]
    drawn = draw_mutations(structure, kinds, 3, np.random.default_rng(0))
    known = [MutantResult(e.kind, e.text, True, Opinion.REFUSED, "", False, False) for e in drawn]
    path = tmp_path / "net.trilut"
    design.netlist.save(path)
    tried = []

    class Campaign:
        def __init__(self, design, mutations, vectors, out):
            self._mutations = mutations

        def results(self):
            for each in self._mutations:
                tried.append(each.text)
                yield MutantResult(each.kind, each.text, True, Opinion.REFUSED, "", False, False)

    monkeypatch.setattr("trilut.verify.design_campaign.DesignCampaign", Campaign)
    monkeypatch.setattr("trilut.app.campaign.netlist_dataset", lambda netlist, name: None)
    monkeypatch.setattr("trilut.app.campaign.features_for", lambda netlist, dataset: None)
    settings = {"count": 3, "num_random": 10, "options": design.options}
    kept = []
    results = mutate_file(path, kinds, known=known[:2], keep=kept.append, **settings)
    assert tried == [each.text for each in drawn[2:]]
    assert kept == known[2:]
    assert results == known

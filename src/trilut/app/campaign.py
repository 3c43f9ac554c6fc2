"""Campaigns: faults put into the hardware of a netlist file, and what comes of them."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

import numpy as np

from trilut.app.console import stages
from trilut.circuit.format import load
from trilut.hdl.options import PORTABLE, HardwareOptions
from trilut.measure.matching import features_for, netlist_dataset
from trilut.verify.kinds import DESIGN_KINDS, MutationKind

if TYPE_CHECKING:
    from trilut.verify.campaigns import FlipSurvey, MutationResult
    from trilut.verify.design_campaign import KindResult

__all__ = ["campaign_file", "mutate_file"]

# Samples that every flipped bit meets.
_FLIP_SAMPLES = 100


def campaign_file(
    path: str | Path,
    kind: Literal["mutants", "flips"],
    *,
    count: int = 500,
    data: str | None = None,
    num_random: int = 10_000,
    options: HardwareOptions | None = None,
    seed: int = 0,
    output: str | Path | None = None,
) -> "MutationResult | FlipSurvey":
    """Put faults into the hardware of a netlist, and count what comes of them.

    Mutants meet the vectors of a regression: the test set, random vectors, and directed ones for
    rows of tables that those miss. Flips meet a hundred samples of the test set.

    Parameters
    ----------
    path : path
        The netlist file.
    kind : str
        ``mutants`` or ``flips``.
    count : int
        Mutants or register bits to draw.
    data : str, optional
        Name of a data set; by default the one that the netlist was trained on.
    num_random, seed : int
        Random vectors, and the seed of all chance.
    options : HardwareOptions, optional
        What shapes the hardware; whatever it says, scores come out, and there are plain streams
        without a port for the margin.
    output : path, optional
        Directory that keeps the faulty design.

    Raises
    ------
    TrilutError
        If the netlist, the data set or a tool is missing or wrong.
    """
    output = None if output is None else Path(output)
    path = Path(path)
    from trilut.hdl import write_verilog
    from trilut.sim import stimulus
    from trilut.verify.campaigns import flip_survey, mutation_campaign, regression_vectors
    from trilut.verify.mutants import draw_mutants

    netlist = load(path)
    samples = features_for(netlist, netlist_dataset(netlist, name=data))
    rng = np.random.default_rng(seed)
    with stages() as show, TemporaryDirectory() as scratch:
        stage = show.start(kind)
        stage.step("building")
        out = output or Path(scratch)
        shaped = dataclasses.replace(
            _portable(options),
            scores=True,
            axi_beat_bits=None,
            presence_bits=True,
            margin_port=False,
        )
        design = write_verilog(netlist, out, shaped)
        if kind == "flips":
            chosen = stimulus(netlist, samples[:_FLIP_SAMPLES], rng, num_random=1)["data"]
            flips = flip_survey(
                design, chosen, out=out, num_bits=count, seed=seed, progress=stage.update
            )
            stage.finish(f"{flips.num_flips:,} flips")
            return flips
        vectors = regression_vectors(netlist, samples, rng, num_random)
        mutants = draw_mutants(design.circuit, count, rng)
        result = mutation_campaign(design, mutants, vectors, out=out, progress=stage.update)
        stage.finish(f"{len(result.killed):,} of {result.num_faults:,} faults seen")
    return result


def mutate_file(
    path: str | Path,
    kinds: Sequence[MutationKind],
    *,
    count: int = 500,
    data: str | None = None,
    num_random: int = 10_000,
    options: HardwareOptions | None = None,
    seed: int = 0,
    num_seeds: int = 1,
    output: str | Path | None = None,
) -> "list[KindResult]":
    """Make mistakes of several kinds in the hardware of a netlist, and count what sees them.

    Every mutant meets the regression and the proof of ``trilut verify``. Wrong table entries are
    those of :func:`campaign_file`.

    Parameters
    ----------
    kinds : sequence of MutationKind
        What to try.
    count : int
        Mutants to draw of each kind.
    num_seeds : int
        How often the regression runs, each time with another seed; a mutant is killed if each of
        them sees it. Of wrong table entries others are drawn each time.
    path, data, num_random, options, seed, output
        As of :func:`campaign_file`.

    Raises
    ------
    TrilutError
        If the netlist, the data set or a tool is missing or wrong.
    """
    output = None if output is None else Path(output)
    path = Path(path)
    from trilut.hdl import write_verilog
    from trilut.sim import stimulus
    from trilut.verify.campaigns import MutationResult
    from trilut.verify.cells import read_structure
    from trilut.verify.coverage import measure_coverage
    from trilut.verify.design_campaign import DesignCampaign, kind_results, table_result, total
    from trilut.verify.mutations import draw_mutations

    results = []
    seeds = range(seed, seed + num_seeds)
    if MutationKind.TABLE in kinds:
        tables = [
            campaign_file(
                path,
                "mutants",
                count=-(-count // num_seeds),
                data=data,
                num_random=num_random,
                options=options,
                seed=each,
                output=output,
            )
            for each in seeds
        ]
        results.append(
            total(
                str(MutationKind.TABLE),
                [table_result(each) for each in tables if isinstance(each, MutationResult)],
            )
        )
    chosen = [kind for kind in DESIGN_KINDS if kind in kinds]
    if not chosen:
        return results
    netlist = load(path)
    samples = features_for(netlist, netlist_dataset(netlist, name=data))
    with stages() as show, TemporaryDirectory() as scratch:
        stage = show.start("design mutants")
        stage.step("building")
        out = output or Path(scratch)
        design = write_verilog(netlist, out, _portable(options))
        vectors = {}
        for each in seeds:
            groups = stimulus(netlist, samples, np.random.default_rng(each), num_random=num_random)
            _, directed = measure_coverage(netlist, groups)
            vectors[each] = groups | ({} if directed is None else {"directed": directed})
        rng = np.random.default_rng(seed)
        mutations = draw_mutations(read_structure(design, out), chosen, count, rng)
        campaign = DesignCampaign(design, mutations, vectors, out / "mutants")
        found = campaign.results(progress=stage.update)
        stage.finish(f"{sum(each.is_killed for each in found):,} of {len(found):,} mutants seen")
    return [*results, *kind_results(found)]


def _portable(options: HardwareOptions | None) -> HardwareOptions:
    """Return options with sums of any logic, in which there are adders to break."""
    return (options or HardwareOptions()).for_part(PORTABLE)

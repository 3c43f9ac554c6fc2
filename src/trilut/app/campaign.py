"""Campaigns: faults put into the hardware of a netlist file, and what comes of them."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

import numpy as np

from trilut.app.console import Stage, stages
from trilut.circuit.format import load
from trilut.circuit.netlist import Netlist
from trilut.hdl.options import PORTABLE, HardwareOptions
from trilut.measure.matching import features_for, netlist_dataset
from trilut.verify.kinds import DESIGN_KINDS, MutationKind

if TYPE_CHECKING:
    from trilut.circuit.interface import Vectors
    from trilut.verify.campaigns import FlipSurvey, MutationResult
    from trilut.verify.design_campaign import MutantResult

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
        design = write_verilog(netlist, out, _plain(options))
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
    known: "Sequence[MutantResult]" = (),
    keep: "Callable[[MutantResult], None] | None" = None,
) -> "list[MutantResult]":
    """Make mistakes of several kinds in the hardware of a netlist, and see what sees them.

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
        them sees it.
    known : sequence of MutantResult
        What became of mutants in an earlier campaign that drew the same; those are not tried again.
    keep : callable, optional
        Called with each new result.
    path, data, num_random, options, seed, output
        As of :func:`campaign_file`.

    Raises
    ------
    TrilutError
        If the netlist, the data set or a tool is missing or wrong.
    """
    keep = keep or (lambda result: None)
    task = _Task(
        load(Path(path)), data, num_random, tuple(range(seed, seed + num_seeds)), count, options
    )
    results = []
    with stages() as show, TemporaryDirectory() as scratch:
        out = Path(scratch) if output is None else Path(output)
        if MutationKind.TABLE in kinds:
            results += _wrong_tables(task, show.start("mutants"), out, known, keep)
        if chosen := [kind for kind in DESIGN_KINDS if kind in kinds]:
            results += _wrong_designs(task, chosen, show.start("design mutants"), out, known, keep)
    return results


@dataclass(frozen=True, slots=True)
class _Task:
    """What a campaign of mutants is asked for; see :func:`mutate_file`."""

    netlist: Netlist
    data: str | None
    num_random: int
    seeds: tuple[int, ...]
    count: int
    options: HardwareOptions | None

    def vectors(self) -> "dict[int, dict[str, Vectors]]":
        """Make the vectors of the level ``rtl``, for each seed."""
        from trilut.sim import stimulus
        from trilut.verify.coverage import measure_coverage

        samples = features_for(self.netlist, netlist_dataset(self.netlist, name=self.data))
        vectors = {}
        for seed in self.seeds:
            rng = np.random.default_rng(seed)
            groups = stimulus(self.netlist, samples, rng, num_random=self.num_random)
            _, directed = measure_coverage(self.netlist, groups)
            vectors[seed] = groups | ({} if directed is None else {"directed": directed})
        return vectors


def _wrong_tables(
    task: _Task,
    stage: Stage,
    out: Path,
    known: "Sequence[MutantResult]",
    keep: "Callable[[MutantResult], None]",
) -> "list[MutantResult]":
    """Try wrong table entries, all at once if any is not known."""
    from trilut.hdl import write_verilog
    from trilut.verify.campaigns import joined, mutation_campaign
    from trilut.verify.design_campaign import table_results
    from trilut.verify.mutants import draw_mutants

    done = [result for result in known if result.kind is MutationKind.TABLE]
    design = write_verilog(task.netlist, out, _plain(task.options))
    mutants = draw_mutants(design.circuit, task.count, np.random.default_rng(task.seeds[0]))
    if {result.text for result in done} != set(map(str, mutants)):
        stage.step("building")
        regressions = map(joined, task.vectors().values())
        result = mutation_campaign(design, mutants, *regressions, out=out, progress=stage.update)
        done = table_results(mutants, result)
        for each in done:
            keep(each)
    stage.finish(f"{sum(each.is_killed for each in done):,} of {len(done):,} mutants seen")
    return done


def _wrong_designs(
    task: _Task,
    kinds: Sequence[MutationKind],
    stage: Stage,
    out: Path,
    known: "Sequence[MutantResult]",
    keep: "Callable[[MutantResult], None]",
) -> "list[MutantResult]":
    """Try mistakes in a whole design, but for those that are known."""
    from trilut.hdl import write_verilog
    from trilut.verify.cells import read_structure
    from trilut.verify.design_campaign import DesignCampaign
    from trilut.verify.mutations import draw_mutations

    stage.step("building")
    design = write_verilog(task.netlist, out, _portable(task.options))
    rng = np.random.default_rng(task.seeds[0])
    drawn = draw_mutations(read_structure(design, out), kinds, task.count, rng)
    results = {(result.kind, result.text): result for result in known}
    left = [each for each in drawn if (each.kind, each.text) not in results]
    if left:
        campaign = DesignCampaign(design, left, task.vectors(), out / "mutants")
        for number, result in enumerate(campaign.results(), start=1):
            results[result.kind, result.text] = result
            keep(result)
            stage.update(number, len(left))
    found = [results[each.kind, each.text] for each in drawn]
    stage.finish(f"{sum(each.is_killed for each in found):,} of {len(found):,} mutants seen")
    return found


def _plain(options: HardwareOptions | None) -> HardwareOptions:
    """Return options with plain streams, without a port for the margin, and with scores."""
    return dataclasses.replace(
        _portable(options),
        scores=True,
        axi_beat_bits=None,
        presence_bits=True,
        margin=True,
        margin_port=False,
    )


def _portable(options: HardwareOptions | None) -> HardwareOptions:
    """Return options with sums of any logic, in which there are adders to break."""
    return (options or HardwareOptions()).for_part(PORTABLE)

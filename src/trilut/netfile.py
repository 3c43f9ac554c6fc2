"""Work on a netlist file: optimise, verify, synthesise, put faults in, write other formats."""

import dataclasses
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from trilut.blif import to_blif, to_blif_mv
from trilut.console import Stage, Stages, stages, talk
from trilut.errors import ToolError, TrilutError
from trilut.evaluation import evaluate_split, features_for, netlist_dataset, samples_for
from trilut.files import make_directory, work_directory, write_atomically
from trilut.format import load, save
from trilut.identifier import check_identifier
from trilut.narrow import drop_features, narrow_features, search_feature_bits
from trilut.netlist import Netlist
from trilut.optimize import optimize
from trilut.summary import plain

if TYPE_CHECKING:
    from trilut.hdl import VerilogDesign
    from trilut.synth.report import SynthesisReport
    from trilut.verify import Verification
    from trilut.verify.campaigns import FlipSurvey, MutationResult

__all__ = [
    "campaign_file",
    "optimize_file",
    "synthesize_design",
    "synthesize_file",
    "synthesize_targets",
    "verify_file",
    "write_bench",
    "write_blif",
]

# Random vectors of a test bench that the user takes along.
_BENCH_VECTORS = 1000
# Samples that every flipped bit meets.
_FLIP_SAMPLES = 100


def optimize_file(
    path: Path,
    output: Path,
    *,
    lossy: bool = False,
    feature_bits: int | Literal["auto"] | None = None,
    unread: bool = True,
) -> dict[str, Any]:
    """Optimise a netlist file into another one, and return what changed.

    The options ``lossy`` and ``feature_bits`` change what the circuit computes. For them the
    netlist must say what it was trained on, and the test accuracy before and after is returned too.
    The new netlist's provenance then has the new accuracy, instead of those of the training, and
    ``changes``, a list of what was done.

    Parameters
    ----------
    lossy : bool
        Treat rows that no training sample causes as free.
    feature_bits : int or "auto", optional
        Bits of a feature; "auto" takes the fewest that lose at most 0.1 pp on the validation set.
    unread : bool
        Whether features that nothing looks at stay.
    """
    netlist = load(path)
    changes_meaning = lossy or feature_bits is not None
    dataset = netlist_dataset(netlist) if changes_meaning else None
    smaller = netlist
    if feature_bits == "auto" and dataset is not None:
        smaller = search_feature_bits(smaller, samples_for(netlist, dataset, part="validation"))
    elif isinstance(feature_bits, int):
        smaller = narrow_features(smaller, feature_bits)
    trits = None
    if lossy and dataset is not None:
        samples = features_for(smaller, dataset, part="train")
        assert smaller.encoder is not None
        trits = smaller.encoder.encode(samples)
    smaller = optimize(smaller, training_trits=trits).netlist
    if not unread:
        smaller = drop_features(smaller)
    facts: dict[str, Any] = {
        "gates_before": netlist.num_gates,
        "gates_after": smaller.num_gates,
        "layers_before": netlist.depth,
        "layers_after": smaller.depth,
    }
    if dataset is not None:
        for when, circuit in (("before", netlist), ("after", smaller)):
            test = samples_for(circuit, dataset)
            facts[f"accuracy_{when}"] = evaluate_split(circuit, test).accuracy
        change = {"lossy": lossy, "feature_bits": _feature_bits(smaller) if feature_bits else None}
        smaller = _with_change(smaller, change, facts["accuracy_after"])
    if smaller.encoder is not None:
        facts["features"] = len(smaller.encoder.features)
        facts["feature_bits"] = _feature_bits(smaller)
    save(smaller, output)
    return facts


def _feature_bits(netlist: Netlist) -> int | None:
    if netlist.encoder is None:
        return None
    return max(feature.bits for feature in netlist.encoder.features)


def _with_change(netlist: Netlist, change: Mapping[str, Any], accuracy: float) -> Netlist:
    """Say in a netlist how it came to mean something else, and what that has on the test set."""
    earlier = netlist.provenance.get("changes")
    changes = [*earlier, change] if isinstance(earlier, list) else [change]
    known = {"changes": changes, "accuracy": {"hardened": {"test": accuracy}}}
    return dataclasses.replace(netlist, provenance={**netlist.provenance, **known})


def verify_file(
    path: Path,
    *,
    output: Path | None = None,
    data: str | None = None,
    **settings: Any,
) -> "Verification":
    """Check the hardware of a netlist file against the netlist.

    Parameters
    ----------
    output : Path, optional
        Directory for ``verification.json`` and the logs. By default nothing is kept, but for the
        logs that a message names, in a temporary directory.
    data : str, optional
        The data set whose test samples are driven too; by default the one that the netlist was
        trained on, if it says so and the data are still there.
    settings
        As of :func:`trilut.verify.verify`.
    """
    netlist = load(path)
    settings |= {"samples": _samples_to_drive(netlist, data), "output": output}
    if output is not None:
        return _verify_in(output, netlist, settings)
    scratch = Path(mkdtemp(prefix="trilut-verify-"))
    told = ""
    try:
        result = _verify_in(scratch, netlist, settings)
        told = json.dumps(result.to_dict())
        return result
    except ToolError as error:
        told = str(error)
        raise
    finally:
        if str(scratch) not in told:
            shutil.rmtree(scratch, ignore_errors=True)


def _samples_to_drive(netlist: Netlist, data: str | None) -> NDArray[np.float64 | np.uint8] | None:
    """Return test samples, or None if nobody has named any and the netlist's own are gone."""
    if data is None and "data" not in netlist.provenance:
        return None
    try:
        return features_for(netlist, netlist_dataset(netlist, name=data))
    except TrilutError as error:
        if data is not None:
            raise
        talk(f"No samples of a data set are driven: {error}")
        return None


def _verify_in(scratch: Path, netlist: Netlist, settings: Mapping[str, Any]) -> "Verification":
    from trilut.verify import verify

    with stages() as show:
        stage = show.start("verify")
        result = verify(netlist, scratch=scratch, progress=stage.step, **settings)
        verdicts = [f"{level.level.value} {level.outcome.value}" for level in result.levels]
        stage.finish(", ".join(verdicts))
    return result


def synthesize_file(
    path: Path,
    output: Path,
    *,
    target: str = "ecp5",
    pipeline: int | Literal["auto"] = 2,
    hardware: Mapping[str, Any] | None = None,
    **settings: Any,
) -> "SynthesisReport":
    """Place and route a netlist file, and write ``synthesis.json``, ``.md``, ``.html`` and logs.

    Parameters
    ----------
    pipeline : int or "auto"
        Layers between registers; "auto" takes the most that meet the frequency.
    hardware : mapping, optional
        Other arguments of :func:`trilut.hdl.write_verilog`: axi_beat_bits, presence_bits.
    settings
        As of :func:`trilut.synth.synthesize`: frequency, seed, num_seeds, liberty, timeout, cache.

    Raises
    ------
    ToolError
        If a tool fails. If the area is known nevertheless, the files are there with it.
    """
    with stages() as show:
        return _synthesize_netlist(
            load(path), output, show, target, pipeline, hardware or {}, settings
        )


def synthesize_targets(
    path: Path,
    output: Path,
    targets: Sequence[str],
    *,
    pipeline: int | Literal["auto"] = 2,
    hardware: Mapping[str, Any] | None = None,
    **settings: Any,
) -> dict[str, "SynthesisReport | TrilutError"]:
    """Do as :func:`synthesize_file` for several targets at once, each in a directory of its name.

    Returns
    -------
    dict
        The report of each target, or why there is none.

    Raises
    ------
    ToolError
        If a target is unknown, or two have the same name.
    """
    from trilut.synth import in_parallel, load_target

    netlist = load(path)
    names = [load_target(target).name for target in targets]
    _check_different(names, targets)

    def synthesize_one(target: str) -> "SynthesisReport | TrilutError":
        folder = output / load_target(target).name
        try:
            return _synthesize_netlist(
                netlist, folder, show, target, pipeline, hardware or {}, settings
            )
        except TrilutError as error:
            return error

    with stages() as show:
        return dict(zip(names, in_parallel(synthesize_one, targets), strict=True))


def _check_different(names: Sequence[str], targets: Sequence[str]) -> None:
    first: dict[str, str] = {}
    for name, target in zip(names, targets, strict=True):
        if name in first:
            raise ToolError(
                f"Targets {first[name]!r} and {target!r} are both called {name!r}, expected a name "
                "for each, since its report goes into a directory of that name"
            )
        first[name] = target


def _synthesize_netlist(
    netlist: Netlist,
    output: Path,
    show: Stages,
    target: str,
    pipeline: int | Literal["auto"],
    hardware: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> "SynthesisReport":
    from trilut.hdl import write_verilog
    from trilut.synth import SynthesisError, choose_pipeline, load_target
    from trilut.synth.report import make_section, make_synthesis_report, write_synthesis_report

    part = load_target(target)
    tried: dict[str, Any] = {}
    failure = None
    if pipeline == "auto":
        frequency = settings.get("frequency", 200.0)
        others = {name: value for name, value in settings.items() if name != "frequency"}
        stage = show.start("pipeline")
        choice = choose_pipeline(
            netlist,
            part,
            frequency,
            out=output,
            progress=stage.step,
            hardware=hardware,
            **others,
        )
        verdict = "meets" if choice.is_met else "misses"
        stage.finish(f"a register every {choice.pipeline} layers {verdict} {frequency:g} MHz")
        pipeline, tried = choice.pipeline, {"pipeline_choice": plain(choice)}
    logs = output / "logs"
    with work_directory(output, logs=logs) as work:
        design = write_verilog(netlist, work, pipeline=pipeline, target=part.sums, **hardware)
        stage = show.start(f"synth {part.name}")
        try:
            section = synthesize_design(netlist, design, target, work, stage, pipeline, settings)
        except SynthesisError as error:
            stage.finish("no timing")
            failure = str(error).replace(str(work), str(logs))
            partial = dataclasses.replace(error.result, incomplete=failure)
            section = make_section(netlist, design, partial, pipeline=pipeline)
    report = make_synthesis_report(netlist, section | tried)
    write_synthesis_report(report, output)
    if failure is not None:
        raise ToolError(f"{failure}; the area is in {str(output / 'synthesis.json')!r}")
    return report


def synthesize_design(
    netlist: Netlist,
    design: Any,
    target: str,
    work: Path,
    stage: Stage,
    pipeline: int,
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """Place and route a design, and return the section of a report; see make_section."""
    from trilut.synth import load_target, synthesize
    from trilut.synth.report import make_section
    from trilut.synth.traffic import design_traffic

    result = synthesize(
        design.path,
        design.top,
        load_target(target),
        out=work,
        traffic=design_traffic(design),
        progress=stage.step,
        **settings,
    )
    speed = "no timing" if result.timing is None else f"{result.timing.fmax_mhz:.1f} MHz"
    stage.finish(f"{result.cells.summary}, {speed}")
    return make_section(netlist, design, result, pipeline=pipeline)


def campaign_file(
    path: Path,
    kind: Literal["mutants", "flips"],
    *,
    count: int = 500,
    data: str | None = None,
    num_random: int = 10_000,
    pipeline: int = 2,
    seed: int = 0,
    output: Path | None = None,
) -> "MutationResult | FlipSurvey":
    """Put faults into the hardware of a netlist, and count what comes of them.

    Mutants meet the vectors of a regression: the test set, random vectors, and directed ones for
    rows of tables that those miss. Flips meet a hundred samples of the test set.

    Parameters
    ----------
    path : Path
        The netlist file.
    kind : str
        ``mutants`` or ``flips``.
    count : int
        Mutants or register bits to draw.
    data : str, optional
        Name of a data set; by default the one that the netlist was trained on.
    num_random, pipeline, seed : int
        Random vectors, layers between registers, and the seed of all chance.
    output : Path, optional
        Directory that keeps the faulty design.

    Raises
    ------
    TrilutError
        If the netlist, the data set or a tool is missing or wrong.
    """
    from trilut.hdl import write_verilog
    from trilut.sim import stimulus
    from trilut.verify.campaigns import flip_survey, mutation_campaign, regression_vectors
    from trilut.verify.mutants import draw_mutants

    net = load(path)
    samples = features_for(net, netlist_dataset(net, name=data))
    rng = np.random.default_rng(seed)
    with stages() as show, TemporaryDirectory() as scratch:
        stage = show.start(kind)
        stage.step("building")
        out = output or Path(scratch)
        design = write_verilog(net, out, pipeline=pipeline, scores=True)
        if kind == "flips":
            chosen = stimulus(net, samples[:_FLIP_SAMPLES], rng, num_random=1)["data"]
            flips = flip_survey(
                design, chosen, out=out, num_bits=count, seed=seed, progress=stage.update
            )
            stage.finish(f"{flips.num_flips:,} flips")
            return flips
        vectors = regression_vectors(net, samples, rng, num_random)
        mutants = draw_mutants(design.classifier.netlist, count, rng)
        result = mutation_campaign(design, mutants, vectors, out=out, progress=stage.update)
        stage.finish(f"{len(result.killed):,} of {result.num_faults:,} faults seen")
    return result


def write_blif(
    path: Path,
    output: Path,
    language: str,
    *,
    top: str = "trilut_top",
    optimized: bool = True,
) -> Path:
    """Write the gates of a netlist file as ``TOP.blif`` or ``TOP.mv``, for any trits at the inputs.

    Parameters
    ----------
    language : str
        ``blif`` or ``blif-mv``.
    optimized : bool
        Whether gates that make no difference are left out.
    """
    # Behind BLIF there is no encoder whose trits alone could come in.
    circuit = dataclasses.replace(load(path), encoder=None, head=None)
    if optimized:
        circuit = optimize(circuit).netlist
    suffix, convert = {"blif": ("blif", to_blif), "blif-mv": ("mv", to_blif_mv)}[language]
    written = make_directory(output) / f"{check_identifier(top)}.{suffix}"
    write_atomically(written, convert(circuit, model=top))
    return written


def write_bench(netlist: Netlist, design: "VerilogDesign", output: Path) -> Path:
    """Write a test bench of a design that runs without TriLUT; return its directory."""
    from trilut.hdl import InputKind
    from trilut.sim import stimulus, write_testbench

    vectors = stimulus(
        netlist,
        None,
        np.random.default_rng(0),
        num_random=_BENCH_VECTORS,
        as_trits=design.input_kind is InputKind.TRITS,
    )
    return write_testbench(netlist, design.path, design.top, vectors, output, models=design.models)

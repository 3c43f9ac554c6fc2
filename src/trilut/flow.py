"""The whole flow: from a data set to verified RTL, a synthesis report and a page that shows it."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from trilut import interrupt
from trilut.blif import to_blif, to_blif_mv
from trilut.console import Stage, Stages, stages
from trilut.data import Dataset, load_dataset
from trilut.errors import DataError, ToolError, TrilutError
from trilut.evaluation import evaluate_split, samples_for
from trilut.files import make_directory, work_directory, write_atomically
from trilut.format import load, save
from trilut.identifier import check_identifier
from trilut.metrics import cell_vote_accuracy
from trilut.narrow import drop_features, narrow_features, search_feature_bits
from trilut.netlist import Netlist
from trilut.optimize import optimize
from trilut.report import Report, make_report, write_report
from trilut.summary import percent, plain

if TYPE_CHECKING:
    from trilut.hdl import VerilogDesign
    from trilut.synth.report import SynthesisReport
    from trilut.verify import Verification
    from trilut.verify.campaigns import FlipSurvey, MutationResult

__all__ = [
    "Trained",
    "campaign_file",
    "netlist_dataset",
    "optimize_file",
    "run_flow",
    "synthesize_file",
    "synthesize_targets",
    "train_to_directory",
    "verify_file",
    "write_bench",
    "write_blif",
]

# Random vectors of a test bench that the user takes along.
_BENCH_VECTORS = 1000
# The flow proves what takes it a few seconds.
_MAX_GATES_PROVEN = 2000
# Samples that every flipped bit meets.
_FLIP_SAMPLES = 100


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A trained circuit and how good it is.

    Parameters
    ----------
    netlist : Netlist
        The hardened circuit.
    dataset : Dataset
        What it was trained on.
    accuracy : mapping
        On the test set: ``hardened``, ``soft``, ``cell_vote`` and the whole ``evaluation``; if
        hardening lost something, ``layers`` is the accuracy with the first n layers hardened.
    history : list of dict
        The course of the training.
    """

    netlist: Netlist
    dataset: Dataset
    accuracy: Mapping[str, Any]
    history: list[dict[str, Any]]


def run_flow(
    dataset: str,
    output: Path,
    *,
    settings: Mapping[str, Any] | None = None,
    pipeline: int = 2,
    target: str = "ecp5",
    num_random: int = 10_000,
    resume: bool = False,
    mesh: tuple[int, int] | None = None,
) -> Report:
    """Train, harden, write Verilog, verify it, place and route it, and report.

    Writes ``net.trilut``, ``metrics.jsonl``, ``trilut_top.v``, ``logs/``, ``report.json`` and
    ``report.html`` into the output directory.

    Parameters
    ----------
    dataset : str
        Name of a data set.
    output : Path
        Directory for all that is made.
    settings : mapping, optional
        Fields of TrainingConfig that differ from the data set's defaults.
    pipeline : int
        Layers between registers.
    target : str
        Name of a synthesis target.
    num_random : int
        Random vectors of the regression.
    resume : bool
        Whether to go on from a training's checkpoint in the output directory, if there is one.
    mesh : tuple of int, optional
        Number of devices to divide batches over, and gates; see :func:`trilut.training.make_mesh`.

    Raises
    ------
    TrilutError
        If a setting, a tool or a file is wrong.
    """
    from trilut.hdl import write_verilog
    from trilut.synth import load_target

    settings = settings or {}
    samples = load_dataset(dataset, seed=settings.get("seed", 0))
    # A wrong name should not wait for the end of the training.
    part = load_target(target)
    with stages() as show:
        trained = _train(samples, output, settings, show.start("train"), resume=resume, mesh=mesh)
        stage = show.start("Verilog")
        design = write_verilog(trained.netlist, output, pipeline=pipeline, target=part.sums)
        stage.finish(f"{design.path}, latency {design.latency} cycles")
        with work_directory(output, logs=output / "logs") as work:
            verification = _verify(
                trained.netlist,
                design,
                samples.test.x,
                work,
                show.start("verify"),
                num_random=num_random,
            )
            if trained.netlist.num_gates <= _MAX_GATES_PROVEN:
                proof = _prove(trained.netlist, design, work, show.start("prove"))
                verification["formal"] = proof
                verification["passed"] &= proof["outcome"] != "FAILED"
            synthesis = _synthesize(
                trained.netlist, design, target, work, show.start("synth"), pipeline, {}
            )
        stage = show.start("report")
        report = make_report(
            trained.netlist,
            accuracy=trained.accuracy,
            history=trained.history,
            verification=verification,
            synthesis=synthesis,
        )
        write_report(report, trained.netlist, samples.test, output)
        stage.finish(str(output / "report.html"))
    # Kept until here, so that a flow that fails later need not train again.
    for checkpoint in output.glob("checkpoint*"):
        checkpoint.unlink()
    return report


def train_to_directory(
    dataset: str,
    output: Path,
    settings: Mapping[str, Any],
    *,
    resume: bool = False,
    mesh: tuple[int, int] | None = None,
) -> Trained:
    """Train on a data set and write ``net.trilut`` and ``metrics.jsonl`` into a directory.

    Parameters
    ----------
    resume : bool
        Whether to go on from the checkpoint in the directory, if there is one.
    mesh : tuple of int, optional
        Number of devices to divide batches over, and gates.
    """
    samples = load_dataset(dataset, seed=settings.get("seed", 0))
    with stages() as show:
        return _train(samples, output, settings, show.start("train"), resume=resume, mesh=mesh)


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
        Directory for ``verification.json`` and the logs; by default the logs are beside the
        netlist.
    data : str, optional
        The data set whose test samples are driven too; by default the one that the netlist was
        trained on, if it says so.
    settings
        As of :func:`trilut.verify.verify`.
    """
    from trilut.verify import verify

    netlist = load(path)
    known = data is not None or "data" in netlist.provenance
    samples = netlist_dataset(netlist, name=data).test.x if known else None
    with stages() as show:
        stage = show.start("verify")
        result = verify(
            netlist,
            samples=samples,
            output=output,
            scratch=output or path.parent,
            progress=stage.step,
            **settings,
        )
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
    """
    from trilut.synth import in_parallel, load_target

    netlist = load(path)
    names = [load_target(target).name for target in targets]

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
            section = _synthesize(netlist, design, target, work, stage, pipeline, settings)
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


def write_blif(path: Path, output: Path, language: str, *, top: str = "trilut_top") -> Path:
    """Write the optimised gates of a netlist file as ``TOP.blif`` or ``TOP.mv``."""
    netlist = optimize(load(path)).netlist
    suffix, convert = {"blif": ("blif", to_blif), "blif-mv": ("mv", to_blif_mv)}[language]
    written = make_directory(output) / f"{check_identifier(top)}.{suffix}"
    write_atomically(written, convert(netlist, model=top))
    return written


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
    samples = netlist_dataset(net, name=data).test.x
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
        stage.finish(f"{len(result.killed):,} of {result.num_visible:,} faults seen")
    return result


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
        smaller = search_feature_bits(smaller, dataset.validation)
    elif isinstance(feature_bits, int):
        smaller = narrow_features(smaller, feature_bits)
    trits = None
    if lossy and dataset is not None:
        if smaller.encoder is None:
            raise DataError(f"Netlist {netlist.name!r} has no encoder, so it takes no samples")
        trits = smaller.encoder.encode(dataset.train.x)
    smaller = optimize(smaller, training_trits=trits).netlist
    if not unread:
        smaller = drop_features(smaller)
    save(smaller, output)
    facts: dict[str, Any] = {
        "gates_before": netlist.num_gates,
        "gates_after": smaller.num_gates,
        "layers_before": netlist.depth,
        "layers_after": smaller.depth,
    }
    if dataset is not None:
        facts["accuracy_before"] = evaluate_split(netlist, dataset.test).accuracy
        test = samples_for(smaller, dataset)
        facts["accuracy_after"] = evaluate_split(smaller, test).accuracy
    if smaller.encoder is not None:
        facts["features"] = len(smaller.encoder.features)
        facts["feature_bits"] = max(feature.bits for feature in smaller.encoder.features)
    return facts


def netlist_dataset(
    netlist: Netlist, *, name: str | None = None, seed: int | None = None
) -> Dataset:
    """Load a data set by name, or the one that a netlist was trained on.

    Raises
    ------
    DataError
        If no name is given and the netlist does not say.
    """
    origin = netlist.provenance.get("data")
    origin = origin if isinstance(origin, dict) else {}
    chosen = name or origin.get("name")
    if not isinstance(chosen, str):
        raise DataError(
            f"Netlist {netlist.name!r} does not say what it was trained on; name a data set"
        )
    if seed is None:
        recorded = origin.get("seed")
        seed = recorded if chosen == origin.get("name") and isinstance(recorded, int) else 0
    return load_dataset(chosen, seed=seed)


def _train(
    dataset: Dataset,
    output: Path,
    settings: Mapping[str, Any],
    stage: Stage,
    *,
    resume: bool = False,
    mesh: tuple[int, int] | None = None,
) -> Trained:
    make_directory(output)
    stage.step("compiling")

    def progress(step: int, steps: int, loss: float, accuracy: float) -> None:
        stage.update(step, steps, f"loss {loss:.4f}, hardened {percent(accuracy)}")

    with interrupt.deferred():
        from trilut.training import TrainingConfig, layer_accuracies, make_mesh, train

        config = TrainingConfig.for_dataset(dataset, **settings)
        result = train(
            dataset,
            config,
            progress=progress,
            directory=output,
            resume=resume,
            mesh=None if mesh is None else make_mesh(batch=mesh[0], gate=mesh[1]),
        )
    netlist = result.netlist
    assert netlist.encoder is not None
    evaluation = evaluate_split(netlist, dataset.test)
    accuracy = {
        "hardened": evaluation.accuracy,
        "soft": result.soft.test,
        "cell_vote": cell_vote_accuracy(
            netlist.encoder.encode(dataset.train.x),
            dataset.train.y,
            netlist.encoder.encode(dataset.test.x),
            dataset.test.y,
        ),
        "evaluation": plain(evaluation),
    }
    if result.soft.test != result.hardened.test:
        accuracy["layers"] = layer_accuracies(result.fitted, dataset.test)
    history: list[dict[str, Any]] = [dict(line) for line in result.history]
    save(netlist, output / "net.trilut")
    stage.finish(
        f"{netlist.num_gates} gates, hardened {percent(evaluation.accuracy)}, "
        f"ceiling {percent(evaluation.ceiling)}"
    )
    return Trained(netlist, dataset, accuracy, history)


def _verify(
    netlist: Netlist,
    design: Any,
    samples: Any,
    work: Path,
    stage: Stage,
    *,
    num_random: int,
    seed: int = 0,
    simulator: str = "verilator",
) -> dict[str, Any]:
    from trilut.hdl import InputKind
    from trilut.sim import stimulus, verify_rtl

    vectors = stimulus(
        netlist,
        samples,
        np.random.default_rng(seed),
        num_random=num_random,
        as_trits=design.input_kind is InputKind.TRITS,
    )
    simulated = work / "simulated.v"
    write_atomically(simulated, design.path.read_text() + design.models)
    result = verify_rtl(
        netlist,
        simulated,
        design.top,
        design.latency,
        vectors,
        out=work,
        seed=seed,
        simulator=simulator,
        progress=stage.step,
    )
    checked = sum(result.num_checked.values())
    stage.finish(f"{checked} vectors, {result.num_mismatches} mismatches")
    return {**plain(result), "passed": result.passed}


def _prove(netlist: Netlist, design: Any, work: Path, stage: Stage) -> dict[str, Any]:
    """Prove a design, if the tools are there: what was simulated is verified without a proof."""
    from trilut.verify import prove

    try:
        result = prove(netlist, design, work, progress=stage.step)
    except ToolError as error:
        stage.finish(f"not run: {error}")
        return {"outcome": "not run", "verdict": str(error)}
    stage.finish(f"{result.outcome.value}: {result.verdict}")
    return dict(plain(result))


def _synthesize(
    netlist: Netlist,
    design: Any,
    target: str,
    work: Path,
    stage: Stage,
    pipeline: int,
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    from trilut.synth import load_target, synthesize
    from trilut.synth.report import make_section

    result = synthesize(
        design.path, design.top, load_target(target), out=work, progress=stage.step, **settings
    )
    speed = "no timing" if result.timing is None else f"{result.timing.fmax_mhz:.1f} MHz"
    stage.finish(f"{result.cells.summary}, {speed}")
    return make_section(netlist, design, result, pipeline=pipeline)

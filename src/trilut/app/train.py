"""Training in a directory: progress, checkpoints, and the netlist with its accuracy."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trilut import interrupt
from trilut.app.budget import (
    Budget,
    budget_text,
    choose_layers,
    fill_budget,
    with_budget,
)
from trilut.app.console import Stage, stages, talk
from trilut.app.history import read_history
from trilut.app.tune import search_settings
from trilut.circuit.format import load, save
from trilut.circuit.netlist import Netlist
from trilut.data import Dataset, load_dataset
from trilut.data.names import dataset_path
from trilut.errors import TrilutError
from trilut.files import make_directory, read_bytes, write_atomically
from trilut.measure.evaluation import Accuracy, dataset_accuracy
from trilut.report.summary import gap_text, percent
from trilut.training.settings.datasets import has_own_settings
from trilut.training.settings.tables import Effort, table_variants

if TYPE_CHECKING:
    from trilut.training import TrainingConfig

__all__ = ["Trained", "load_samples", "resumable", "train_in_stage", "train_to_directory"]

# Bytes of a file that takes a moment to read.
_LARGE_FILE = 10 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A trained circuit and how good it is.

    Parameters
    ----------
    netlist : Netlist
        The hardened circuit.
    dataset : Dataset
        What it was trained on.
    accuracy : Accuracy
        On the data set.
    history : list of dict
        The course of the training.
    """

    netlist: Netlist
    dataset: Dataset
    accuracy: Accuracy
    history: list[dict[str, Any]]


def train_to_directory(
    dataset: str,
    output: str | Path,
    settings: Mapping[str, Any],
    *,
    effort: Effort = "normal",
    budget: Budget | None = None,
    abstain_margin: int = 1,
    resume: bool = False,
    restart: bool = False,
    mesh: tuple[int, int] | None = None,
) -> Trained:
    """Train on a data set and write ``net.trilut`` and ``metrics.jsonl`` into a directory.

    Parameters
    ----------
    effort : str
        How long to train on a table; ``best`` searches for settings by validation accuracy, and
        keeps its trials in ``trials/``.
    budget : Budget, optional
        What the number of gates is chosen for, whatever the settings say of layers.
    abstain_margin : int
        The margin below which the circuit abstains.
    resume : bool
        Whether to go on from the checkpoint in the directory, if there is one.
    restart : bool
        Whether to start anew although there is a training, finished or not, which is replaced.
    mesh : tuple of int, optional
        Number of devices to divide batches over, and gates.

    Raises
    ------
    TrilutError
        If a setting or a file is wrong, or there is a training already.
    """
    output = Path(output)
    samples = load_samples(dataset, seed=settings.get("seed", 0))
    with resumable(output), stages() as show:
        return train_in_stage(
            samples,
            output,
            settings,
            show.start("train"),
            effort=effort,
            budget=budget,
            abstain_margin=abstain_margin,
            resume=resume,
            restart=restart,
            mesh=mesh,
        )


@contextmanager
def resumable(output: str | Path) -> Iterator[None]:
    """Say how to go on, if the user interrupts what has a checkpoint in a directory."""
    output = Path(output)
    try:
        yield
    except KeyboardInterrupt:
        if any(output.glob("checkpoint.json")) or any(output.glob("trials/*/checkpoint.json")):
            talk(f"What is trained so far is in {str(output)!r}; go on with --resume")
        raise


def load_samples(name: str, *, seed: int) -> Dataset:
    """Load a data set; show how far a large file is read, and say what was left out of a table.

    Raises
    ------
    TrilutError
        If it cannot be loaded.
    """
    path = dataset_path(name)
    if path is None or path.stat().st_size < _LARGE_FILE:
        dataset = load_dataset(name, seed=seed)
    else:
        with stages() as show:
            stage = show.start("read")
            dataset = load_dataset(name, seed=seed, progress=stage.update)
            samples = sum(map(len, (dataset.train, dataset.validation, dataset.test)))
            stage.finish(f"{samples} samples of {dataset.num_features} features")
    for note in dataset.notes:
        talk(note)
    return dataset


def train_in_stage(
    dataset: Dataset,
    output: str | Path,
    settings: Mapping[str, Any],
    stage: Stage,
    *,
    effort: Effort = "normal",
    budget: Budget | None = None,
    abstain_margin: int = 1,
    resume: bool = False,
    restart: bool = False,
    mesh: tuple[int, int] | None = None,
) -> Trained:
    """Do as :func:`train_to_directory` with a data set that is there, and show it as a stage."""
    output = Path(output)
    make_directory(output)
    stage.step("compiling")
    with interrupt.deferred():
        from trilut.training import TrainingConfig
        from trilut.training.checkpoint import check_finished

        if not (resume or restart):
            check_finished(output)
        if effort == "best" and mesh is not None:
            raise TrilutError("A search trains on one device at a time; leave out --mesh")
        if budget is not None:
            layers = choose_layers(dataset, settings, budget, effort=effort, progress=stage.step)
            settings = {**settings, "layers": layers}
        config = TrainingConfig.for_dataset(dataset, effort=effort, **settings)
        talk(_choice_text(config, dataset, effort))

        def train(config: "TrainingConfig", directory: Path) -> Trained:
            return _train(dataset, config, directory, stage, abstain_margin, resume, mesh)

        if effort == "best":
            varied = table_variants(config.settings, dataset.num_classes, given=settings)
            trained = _search(dataset, output, varied, stage, abstain_margin)
        elif budget is None:
            trained = train(config, output)
        else:
            trained = _fill(budget, dataset, config, output, train)
    if budget is not None:
        trained = replace(trained, netlist=with_budget(trained.netlist, budget))
        talk(budget_text(trained.netlist) or "")
    save(trained.netlist, output / "net.trilut")
    accuracy = trained.accuracy
    stage.finish(
        f"{trained.netlist.num_gates} gates, validation {percent(accuracy.validation)}, "
        f"hardened {percent(accuracy.hardened)}, "
        f"ceiling {percent(accuracy.evaluation.ceiling)}"
    )
    return trained


def _fill(
    budget: Budget,
    dataset: Dataset,
    config: "TrainingConfig",
    output: Path,
    train: Callable[["TrainingConfig", Path], Trained],
) -> Trained:
    """Train for a budget, each size in a directory of its own."""

    def train_size(layers: tuple[int, ...]) -> Trained:
        return train(config.with_layers(layers), _size_directory(output, layers))

    layers, trained = fill_budget(budget, dataset, config.network.layers, train_size)
    metrics = _size_directory(output, layers) / "metrics.jsonl"
    write_atomically(output / "metrics.jsonl", read_bytes(metrics).decode())
    return trained


def _size_directory(output: Path, layers: tuple[int, ...]) -> Path:
    return output / "trials" / f"layers-{'-'.join(map(str, layers))}"


def _train(
    dataset: Dataset,
    config: "TrainingConfig",
    output: Path,
    stage: Stage,
    abstain_margin: int,
    resume: bool,
    mesh: tuple[int, int] | None,
) -> Trained:
    from trilut.training import layer_accuracies, make_mesh, train

    def progress(measured: Mapping[str, Any], steps: int) -> None:
        stage.update(measured["step"], steps, _progress_text(measured), unit="step")

    result = train(
        dataset,
        config,
        abstain_margin=abstain_margin,
        progress=progress,
        directory=output,
        resume=resume,
        mesh=None if mesh is None else make_mesh(batch=mesh[0], gate=mesh[1]),
    )
    accuracy = dataset_accuracy(result.netlist, dataset)
    if not result.fitted.recipe.is_circuit:
        layers = tuple(layer_accuracies(result.fitted, dataset.test))
        accuracy = replace(accuracy, layers=layers)
    history: list[dict[str, Any]] = [dict(line) for line in result.history]
    return Trained(result.netlist, dataset, accuracy, history)


def _search(
    dataset: Dataset,
    output: Path,
    variants: list[dict[str, Any]],
    stage: Stage,
    abstain_margin: int,
) -> Trained:
    """Train with all settings, and take what is best on the validation samples."""
    best = search_settings(dataset, output, variants, stage, abstain_margin=abstain_margin)
    netlist, metrics = load(best.net), best.directory / "metrics.jsonl"
    write_atomically(output / "metrics.jsonl", read_bytes(metrics).decode())
    accuracy = dataset_accuracy(netlist, dataset)
    return Trained(netlist, dataset, accuracy, read_history(metrics))


def _choice_text(config: "TrainingConfig", dataset: Dataset, effort: Effort) -> str:
    """Say in one line what a training goes by, and what that follows from."""
    encoding, course, network = config.encoding, config.course, config.network
    gates = " + ".join(map(str, network.layers))
    kept = {
        "best": "the best on",
        "small": "the smallest not clearly below the best on",
        "late": "the last one not clearly below the best on",
        "last": "the last one, whatever it does on",
    }[course.keep]
    if config.starts_from_trees:
        gates = f"up to {gates} boosted gates of {network.node} to {network.node_output}"
    else:
        gates = f"{gates} gates of {config.wiring.name} wiring"
    steps = f", {course.steps} steps of {course.batch}" if course.steps else ""
    return (
        f"{_reason(dataset, effort)} for {len(dataset.train)} samples × {dataset.num_features} "
        f"features in {dataset.num_classes} classes: {encoding.thresholds} {encoding.spacing} "
        f"thresholds a feature, {gates}{steps}; {kept} {len(dataset.validation)} validation "
        "samples is kept"
    )


def _reason(dataset: Dataset, effort: Effort) -> str:
    if not has_own_settings(dataset.name):
        return f"{effort} effort"
    own = f"settings of {dataset.name!r}"
    if effort == "best":
        return f"best effort from the {own}"
    return own if effort == "normal" else f"{own}, which {effort} effort does not change,"


def _progress_text(measured: Mapping[str, Any]) -> str:
    text = f"loss {measured['loss']:.4f}, validation {percent(measured['accuracy'])}"
    return f"{text}, gap {gap_text(measured['layers'])}" if "layers" in measured else text

"""Models of the engine: compiled, described, and run on samples."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from trilut.circuit.format import load
from trilut.data import Split
from trilut.data.files import is_table_name
from trilut.engine import Image, classify, compile_netlist, load_image
from trilut.measure.matching import (
    Part,
    default_part,
    netlist_dataset,
    samples_for,
    table_samples,
)
from trilut.measure.metrics import abstained_fraction, accuracy

if TYPE_CHECKING:
    from trilut.hdl.engine import EngineSize
    from trilut.synth import SynthesisResult
    from trilut.verify.engine import EngineCheck

__all__ = [
    "EngineRate",
    "ModelRun",
    "compile_file",
    "model_facts",
    "run_model",
    "samples_per_second",
    "synthesize_engine",
    "verify_model",
]


@dataclass(frozen=True, slots=True)
class ModelRun:
    """What a model does on labelled samples, all fractions of one.

    Parameters
    ----------
    title : str
        What has been run on what.
    samples : int
        Number of samples.
    accuracy : float
        Right classes among all samples, abstained ones included.
    abstained : float
        Share of samples on which the model abstains.
    """

    title: str
    samples: int
    accuracy: float
    abstained: float


def compile_file(net: str | Path, output: str | Path, *, lanes: int = 1) -> Image:
    """Compile a netlist file to a model of the engine and write it.

    Raises
    ------
    NetlistError, FormatError
        If the netlist cannot be read or is too large for the engine, or the model cannot be
        written.
    """
    image = compile_netlist(load(net), lanes=lanes)
    image.save(output)
    return image


def model_facts(image: Image) -> dict[str, int | float | str]:
    """Return what is to say of a model."""
    return {
        "netlist": image.shell.name,
        "digest": image.digest.hex(),
        "features": image.num_features,
        "bits of a value": image.value_bits,
        "classes": image.num_classes,
        "bits of a score": image.score_bits,
        "abstention margin": image.abstain_margin,
        "lanes": image.lanes,
        "entries": image.num_entries,
        "gate instructions": image.num_gates,
        "steps": image.num_steps,
        "utilisation": image.utilization,
        "bytes to load": len(image.program_bytes()),
    }


def run_model(path: str | Path, data: str | None = None, part: Part | None = None) -> ModelRun:
    """Run a model on a data set, by the plain model of the instruction set.

    Parameters
    ----------
    data : str, optional
        Name of a data set or a table; by default what the netlist was trained on.
    part : str, optional
        Which samples; by default the test set of what it was trained on, and all of other tables.

    Raises
    ------
    FormatError, DataError
        If the model or the data set cannot be read, or do not fit each other.
    """
    image = load_image(path)
    title, split = _samples(image, data, part)
    decisions = classify(image, image.encoder.quantize(split.x))
    return ModelRun(
        title=title,
        samples=len(split),
        accuracy=accuracy(decisions, split.y),
        abstained=abstained_fraction(decisions),
    )


def verify_model(
    path: str | Path,
    size: "EngineSize",
    data: str | None = None,
    part: Part | None = None,
    *,
    most: int | None = None,
) -> "tuple[str, EngineCheck]":
    """Run a model on a data set through the engine's Verilog, and compare every answer.

    Parameters
    ----------
    most : int, optional
        Take the first samples only.

    Returns
    -------
    title : str
        What has been run on what.
    check : EngineCheck
        How it ended.
    """
    from trilut.verify.engine import check_engine

    image = load_image(path)
    size.check(image)
    title, split = _samples(image, data, part)
    with TemporaryDirectory() as directory:
        return title, check_engine(image, image.encoder.quantize(split.x[:most]), size, directory)


def _samples(image: Image, data: str | None, part: Part | None) -> tuple[str, Split]:
    """Return labelled samples for a model, and what they are called."""
    chosen = part or default_part(image.shell, data)
    if data is not None and chosen == "all" and is_table_name(data):
        name, split = data, table_samples(image.shell, data)
    else:
        dataset = netlist_dataset(image.shell, name=data)
        name, split = dataset.name, samples_for(image.shell, dataset, part=chosen)
    return f"{image.shell.name} on {chosen} of {name}", split


@dataclass(frozen=True, slots=True)
class EngineRate:
    """An engine on a part, and how fast a model is on it.

    Parameters
    ----------
    size : EngineSize
        The engine.
    synthesis : SynthesisResult
        Its cells and its timing.
    samples_per_second : float, optional
        What a model reaches at the highest frequency; None without a model or without timing.
    """

    size: "EngineSize"
    synthesis: "SynthesisResult"
    samples_per_second: float | None


def synthesize_engine(
    size: "EngineSize",
    target: str,
    output: str | Path,
    model: str | Path | None = None,
    *,
    frequency: float = 100.0,
    timeout: float = 3600.0,
) -> EngineRate:
    """Place and route an engine, and say how fast a model is on it.

    A step takes a cycle, and the first instructions after ``END`` take two more; the features come
    as fast as they are taken.

    Raises
    ------
    TrilutError
        If the model does not fit, or a tool is missing or fails.
    """
    from trilut.hdl.engine import write_engine
    from trilut.hdl.engine.writing import TOP
    from trilut.synth import SynthesisSettings, load_target, synthesize

    image = None if model is None else load_image(model)
    if image is not None:
        size.check(image)
    verilog = write_engine(size, output)
    settings = SynthesisSettings(frequency=frequency, timeout=timeout)
    result = synthesize(verilog, TOP, load_target(target), out=output, settings=settings)
    rate = None
    if image is not None and result.timing is not None:
        rate = samples_per_second(image, size, result.timing.fmax_mhz * 1e6)
    return EngineRate(size, result, rate)


def samples_per_second(image: Image, size: "EngineSize", clock_hz: float) -> float:
    """Return how many samples a second a model takes, if features are always there."""
    from trilut.hdl.engine.program import RESTART_CYCLES

    return clock_hz * size.samples / (image.num_steps + RESTART_CYCLES)

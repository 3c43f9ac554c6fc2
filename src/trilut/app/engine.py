"""Models of the engine: compiled, described, and run on samples."""

from dataclasses import dataclass
from pathlib import Path

from trilut.circuit.format import load
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

__all__ = ["ModelRun", "compile_file", "model_facts", "run_model"]


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
    chosen = part or default_part(image.shell, data)
    if data is not None and chosen == "all" and is_table_name(data):
        name, split = data, table_samples(image.shell, data)
    else:
        dataset = netlist_dataset(image.shell, name=data)
        name, split = dataset.name, samples_for(image.shell, dataset, part=chosen)
    decisions = classify(image, image.encoder.quantize(split.x))
    return ModelRun(
        title=f"{image.shell.name} on {chosen} of {name}",
        samples=len(split),
        accuracy=accuracy(decisions, split.y),
        abstained=abstained_fraction(decisions),
    )

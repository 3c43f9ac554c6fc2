"""What a long training leaves in its directory: measurements, and checkpoints to go on from.

``checkpoint.json`` says where a training stands and names the file with its arrays. Both are
complete or not there, whenever the process is killed: the arrays are written first, under a name of
their own, and the JSON file is renamed into place after them.
"""

import hashlib
import io
import json
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, TypedDict, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.multihost_utils import broadcast_one_to_all, process_allgather
from numpy.typing import NDArray

from trilut.archive import read_arrays
from trilut.errors import FormatError
from trilut.files import make_directory, parse_json, read_bytes, write_atomically
from trilut.training.config import TrainingConfig
from trilut.training.errors import TrainingError
from trilut.training.settings.setting import settings_of
from trilut.training.step import Learned, State

__all__ = ["Journal", "Measurement", "Snapshot", "check_finished", "write_history"]

_VERSION = 2
_METRICS = "metrics.jsonl"

# Saving takes at most about this share of the time.
_SHARE = 0.1

_T = TypeVar("_T")


class Measurement(TypedDict):
    """A line of the history.

    Parameters
    ----------
    step : int
        The steps taken so far.
    loss : float
        Its mean since the last line.
    accuracy : float
        Validation accuracy of the hardened network.
    learning_rate : float
        The setting, which can be lowered when a training is resumed.
    layers : list of float, optional
        Validation accuracy with the first n layers hardened, for n = 0 … number of layers, where
        the training forward is not the circuit. Of a large network not every line has it.
    """

    step: int
    loss: float
    accuracy: float
    learning_rate: float
    layers: NotRequired[list[float]]


class Snapshot(NamedTuple):
    """Where a training stands.

    Parameters
    ----------
    state : State
        What the next step starts from.
    kept : Learned
        What would be hardened if the training ended here.
    kept_accuracy : float
        Its hardened validation accuracy; −1 before the first measurement.
    history : tuple of Measurement
        The course of the training so far.
    """

    state: State
    kept: Learned
    kept_accuracy: float = -1.0
    history: tuple[Measurement, ...] = ()

    @property
    def done(self) -> int:
        """Number of steps taken."""
        return self.history[-1]["step"] if self.history else 0


def check_finished(directory: Path) -> None:
    """Check that a directory has no training, finished or not, that a new one would remove.

    Raises
    ------
    TrainingError
        If it has one.
    """
    try:
        document = parse_json(read_bytes(directory / "checkpoint.json"), "Checkpoint")
        total = document["total_steps"]
        is_finished = document["step"] >= total
    except (FormatError, KeyError, TypeError):
        # There is none, or none to go on from.
        is_finished = True
    if not is_finished:
        raise TrainingError(
            f"Directory {str(directory)!r} has a training that stopped after step "
            f"{document['step']} of {total}; go on with --resume, or start anew with --restart"
        )
    if (directory / "net.trilut").exists():
        raise TrainingError(
            f"Directory {str(directory)!r} has a finished training; train anew with --restart, or "
            "name another directory"
        )


def write_history(directory: Path, history: Iterable[Measurement]) -> None:
    """Write the course of a training as ``metrics.jsonl`` into a directory, made if need be."""
    lines = "".join(json.dumps(line) + "\n" for line in history)
    write_atomically(make_directory(directory) / _METRICS, lines)


class Journal:
    """The files ``metrics.jsonl`` and ``checkpoint.json`` of a training.

    Parameters
    ----------
    directory : Path
        Made if it does not exist.
    config : TrainingConfig
        The settings of the training.
    data : tree of arrays
        All that it learns from.
    total_steps : int
        How many steps it takes, those of pruning included.

    Attributes
    ----------
    saved_step : int or None
        The step of the checkpoint, if there is one to go on from.
    """

    def __init__(self, directory: Path, config: TrainingConfig, data: object, total_steps: int):
        self.path = make_directory(directory) / "checkpoint.json"
        self._metrics = directory / _METRICS
        self._settings = json.loads(json.dumps(config.settings))
        self._defaults = {
            setting.name: setting.default
            for part in config.parts
            for setting in settings_of(type(part)).values()
        }
        self._total_steps = total_steps
        self._samples = _digest(data)
        self.saved_step: int | None = None
        self._saved_at = -float("inf")
        self._save_seconds = 0.0

    def begin(self, fresh: Snapshot, *, resume: bool) -> Snapshot:
        """Return what to start from: the checkpoint if there is one and it is asked for.

        Of several processes, the first decides whether there is one; all of them read it.

        Raises
        ------
        TrainingError
            If the checkpoint belongs to other settings or samples, or is damaged.
        """
        is_there = _told_by_the_first_process(self.path.exists())
        snapshot = self._load(fresh) if resume and is_there else fresh
        self.saved_step = None if snapshot is fresh else snapshot.done
        if jax.process_index() != 0:
            return snapshot
        if snapshot is fresh:
            self._discard(keep="")
            self.path.unlink(missing_ok=True)
        write_history(self._metrics.parent, snapshot.history)
        return snapshot

    def record(self, snapshot: Snapshot) -> None:
        """Append the last measurement, and save a checkpoint unless the last one is recent."""
        if jax.process_index() == 0:
            self._append(snapshot.history[-1])
        # Several processes save together, so their clocks cannot decide.
        together = jax.process_count() > 1
        if together or time.monotonic() - self._saved_at >= self._save_seconds / _SHARE:
            self.save(snapshot)

    def _append(self, line: Measurement) -> None:
        try:
            with self._metrics.open("a") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise FormatError(f"Cannot write {str(self._metrics)!r}: {error.strerror}") from error

    def save(self, snapshot: Snapshot, *, finished: bool = False) -> None:
        """Save a checkpoint in the place of the one before."""
        started = time.monotonic()
        self.saved_step = snapshot.done
        file = io.BytesIO()
        arrays = _arrays((snapshot.state, snapshot.kept))
        if jax.process_index() != 0:
            return
        np.savez(file, allow_pickle=False, **arrays)
        name = f"checkpoint-{snapshot.done}.npz"
        write_atomically(self.path.parent / name, file.getvalue())
        document = {
            "format": "trilut checkpoint",
            "version": _VERSION,
            "trilut": version("trilut"),
            "step": snapshot.done,
            "total_steps": snapshot.done if finished else self._total_steps,
            "arrays": name,
            "sha256": hashlib.sha256(file.getbuffer()).hexdigest(),
            "samples": self._samples,
            "settings": self._settings,
            "kept_accuracy": snapshot.kept_accuracy,
            "history": snapshot.history,
        }
        write_atomically(self.path, json.dumps(document, indent=1) + "\n")
        self._discard(keep=name)
        self._saved_at = time.monotonic()
        self._save_seconds = self._saved_at - started

    def _discard(self, *, keep: str) -> None:
        for arrays in self.path.parent.glob("checkpoint-*.npz"):
            if arrays.name != keep:
                arrays.unlink(missing_ok=True)

    def _load(self, fresh: Snapshot) -> Snapshot:
        try:
            document = parse_json(read_bytes(self.path), "it")
            self._check(document)
            content = read_bytes(self.path.parent / str(document["arrays"]))
            if hashlib.sha256(content).hexdigest() != document["sha256"]:
                raise self._damaged("its arrays have another checksum")
            # Never compressed, so its arrays are not larger than the file.
            arrays = read_arrays(io.BytesIO(content), str(document["arrays"]), len(content))
            state, kept = _fill((fresh.state, fresh.kept), list(arrays.values()))
            rate = float(document["settings"]["learning_rate"])
            history = tuple(_measurement(line, rate) for line in document["history"])
            return Snapshot(state, kept, float(document["kept_accuracy"]), history)
        except FormatError as error:
            raise self._damaged(str(error)) from error
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(f"{type(error).__name__}: {error}") from error

    def _check(self, document: dict[str, Any]) -> None:
        if document["version"] != _VERSION:
            raise TrainingError(
                f"Checkpoint {str(self.path)!r} has version {document['version']}, "
                f"expected {_VERSION}"
            )
        is_finished = document["step"] >= document["total_steps"]
        for name, value in self._settings.items():
            # A checkpoint may be older than a setting.
            before = document["settings"].get(name, self._defaults.get(name))
            is_lowered = name == "learning_rate" and value < before and not is_finished
            if value != before and not is_lowered:
                raise TrainingError(
                    f"Cannot resume from {str(self.path)!r}: "
                    f"setting {name!r} is {value!r} now, but was {before!r}"
                )
        if self._samples != document["samples"]:
            raise TrainingError(
                f"Cannot resume from {str(self.path)!r}: the training samples have changed"
            )

    def _damaged(self, reason: str) -> TrainingError:
        return TrainingError(
            f"Checkpoint {str(self.path)!r} is damaged: {reason}; start anew with --restart"
        )


def _arrays(tree: object) -> dict[str, Any]:
    """Return the whole arrays of a tree, wherever their parts are."""
    return {f"{leaf:04}": _whole(array) for leaf, array in enumerate(jax.tree.leaves(tree))}


def _whole(array: jax.Array) -> NDArray[Any]:
    # What each process has whole would be put together from as many copies.
    spread = not array.is_fully_addressable
    return np.asarray(process_allgather(array, tiled=True) if spread else array)


def _told_by_the_first_process(fact: bool) -> bool:
    return bool(broadcast_one_to_all(np.array(fact))) if jax.process_count() > 1 else fact


def _measurement(line: dict[str, Any], learning_rate: float) -> Measurement:
    measured: Measurement = {
        "step": int(line["step"]),
        "loss": float(line["loss"]),
        "accuracy": float(line["accuracy"]),
        "learning_rate": float(line.get("learning_rate", learning_rate)),
    }
    if "layers" in line:
        measured["layers"] = list(map(float, line["layers"]))
    return measured


def _digest(data: object) -> str:
    arrays = jax.tree.leaves(data)
    content = hashlib.sha256(str([array.shape for array in arrays]).encode())
    for array in arrays:
        content.update(np.ascontiguousarray(array).data)
    return content.hexdigest()


def _fill(like: _T, arrays: list[NDArray[Any]]) -> _T:
    """Return a tree of the same structure, shapes and types, with other values."""
    leaves, structure = jax.tree.flatten(like)
    wanted = [(leaf.shape, leaf.dtype) for leaf in leaves]
    if wanted != [(array.shape, array.dtype) for array in arrays]:
        raise ValueError("its arrays have other shapes")
    return jax.tree.unflatten(structure, [jnp.asarray(array) for array in arrays])

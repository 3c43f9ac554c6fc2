"""Loading a data set by its name."""

import difflib
import os
from pathlib import Path

from trilut.data.benchmarks import BENCHMARKS
from trilut.data.builtin import BUILTIN, load_builtin
from trilut.data.dataset import Dataset
from trilut.data.downloads import FETCHED, is_fetched, load_fetched
from trilut.data.files import file_path, is_file_name, load_file
from trilut.data.naming import split_name
from trilut.data.parameters import parse_parameters
from trilut.data.synthetic import SYNTHETIC
from trilut.data.text import Progress
from trilut.errors import DataError

__all__ = ["absolute_name", "dataset_names", "dataset_origins", "dataset_path", "load_dataset"]


# What scikit-learn takes, and TrainingConfig.
_LARGEST_SEED = 2**32 - 1


def dataset_names() -> tuple[str, ...]:
    """Return the names that :func:`load_dataset` knows, in alphabetical order."""
    return tuple(sorted([*SYNTHETIC, *BUILTIN, *FETCHED, *BENCHMARKS]))


def dataset_origins() -> dict[str, str]:
    """Return where each data set comes from, by name."""
    return {name: _origin(name) for name in dataset_names()}


def _origin(name: str) -> str:
    if name in SYNTHETIC:
        keys = ", ".join(parameter.name for parameter in SYNTHETIC[name].parameters)
        return f"made; may be given {keys}"
    if name in BUILTIN:
        return "inside scikit-learn"
    if name in BENCHMARKS:
        return f"a file of your own: {name}:path=FILE"
    return "fetched" if is_fetched(name) else f"get it with: trilut data fetch {name}"


def dataset_path(name: str) -> Path | None:
    """Return the file or directory that a data set is read from, if it is one of the user's."""
    base, _, parameters = name.partition(":")
    if base in BENCHMARKS:
        path = parameters.partition("=")[2]
        return Path(path) if path and os.path.exists(path) else None
    return None if base in dataset_names() else file_path(name)


def absolute_name(name: str) -> str:
    """Return the name that means the same file in every directory; other names as they are."""
    path = dataset_path(name)
    if path is None:
        return name
    base = name.partition(":")[0]
    if base in BENCHMARKS:
        return f"{base}:path={path.absolute()}"
    return f"{path.absolute()}{split_name(name)[1]}"


def load_dataset(
    name: str | Path,
    *,
    seed: int = 0,
    label: str | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """Make or read a data set; the same name and seed give the same samples and the same split.

    Parameters
    ----------
    name : str or path
        A name; data that is made may be given numbers, as in ``gaussians:separation=1.5``. Or the
        path of a file: see :func:`trilut.data.files.load_file`.
    seed : int
        Seed of the samples or of their split, 0…4294967295.
    label : str, optional
        The column with the classes of a table; the same as ``:label=COLUMN`` behind its path.
    progress : callable, optional
        Called with the number of bytes of a table that have been read, and of all.

    Raises
    ------
    DataError
        If there is no data set of this name, it has not been fetched, a file cannot be used, or the
        seed is out of its range.
    FormatError
        If a file cannot be read.
    ToolError
        If it needs scikit-learn, which is not installed.
    """
    name = str(name)
    if not 0 <= seed <= _LARGEST_SEED:
        raise DataError(f"Seed of the data set {name!r} is {seed}, expected 0…{_LARGEST_SEED}")
    base, _, parameters = name.partition(":")
    if label is not None:
        if base in dataset_names():
            raise DataError(f"Data set {name!r} is no table, so there is no column {label!r}")
        return load_file(f"{name}:label={label}", seed, progress)
    if base in SYNTHETIC:
        made = SYNTHETIC[base]
        return made.load(name, seed, parse_parameters(name, parameters, made.parameters))
    if base in BUILTIN or base in FETCHED:
        parse_parameters(name, parameters, ())
        return load_builtin(base, seed) if base in BUILTIN else load_fetched(base, seed)
    if base in BENCHMARKS:
        key, _, path = parameters.partition("=")
        if key != "path" or not path:
            raise DataError(f"Data set {name!r} is a file of your own, expected {base}:path=FILE")
        return BENCHMARKS[base](name, Path(path), seed)
    if is_file_name(name):
        return load_file(name, seed, progress)
    close = difflib.get_close_matches(base.lower(), dataset_names(), n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise DataError(
        f"Data set {name!r} does not exist, expected one of {', '.join(dataset_names())}, "
        f"or the path of a file{hint}"
    )

"""The user's own data: a table, arrays, or a directory of images."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilut.archive import read_arrays
from trilut.data.columns import is_missing
from trilut.data.dataset import (
    MAX_BYTES,
    Dataset,
    Integers,
    Samples,
    Split,
    are_too_many,
    hold_back,
    number_classes,
    share_out,
)
from trilut.data.images import (
    CIFAR10_CLASSES,
    Bytes,
    colour_names,
    parse_cifar_binary,
    parse_cifar_pickle,
    parse_idx,
    pixel_names,
)
from trilut.data.naming import read_options, split_name
from trilut.data.selection import TableOptions
from trilut.data.tables import load_table
from trilut.data.text import Progress
from trilut.errors import DataError, FormatError
from trilut.files import decompress, read_bytes

__all__ = ["file_path", "is_file_name", "is_table_name", "load_arrays", "load_file"]

_TABLE_ENDS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")

# Names that people give to samples, to labels and to the parts, in lower case.
_X_NAMES = ("x", "data", "features", "images")
_Y_NAMES = ("y", "target", "targets", "label", "labels")
_PART_ENDS = {
    "train": ("_train",),
    "validation": ("_validation", "_valid", "_val"),
    "test": ("_test",),
}


def is_table_name(name: str) -> bool:
    """Return whether the name of a data set is that of a table."""
    return split_name(name)[0].lower().endswith(_TABLE_ENDS)


def is_file_name(name: str) -> bool:
    """Return whether the name of a data set is meant as that of a file."""
    path = Path(split_name(name)[0])
    return (
        os.path.exists(path)
        or len(path.parts) > 1
        or path.name.lower().endswith((*_TABLE_ENDS, ".npz"))
    )


def file_path(name: str) -> Path | None:
    """Return the file or directory that the name of a data set means, if it is there."""
    path = Path(split_name(name)[0])
    return path if os.path.exists(path) else None


def load_file(name: str, seed: int, progress: Progress | None = None) -> Dataset:
    """Read a data set from a file or directory that the user names.

    What has no test set of its own is split by seed, class by class; what has one, but no
    validation set, gives a part of its training samples for that.

    Parameters
    ----------
    name : str
        A path, behind that of a table perhaps how to read it, such as ``:label=COLUMN``; see
        :mod:`trilut.data.naming`.
    seed : int
        Seed of the split.
    progress : callable, optional
        Called with the number of bytes of a table that have been read, and of all.

    Raises
    ------
    FormatError, DataError
        If it cannot be read or used.
    """
    path, options = read_options(name)
    if is_table_name(name):
        return load_table(name, path, options, seed, progress)
    if options != TableOptions():
        what = f"there is no column {options.label!r}" if options.label else "it has no columns"
        raise DataError(f"{str(path)!r} is no table, so {what}")
    if os.path.isdir(path):
        return _load_directory(name, path, seed)
    if path.suffix.lower() == ".npz":
        return _load_npz(name, path, seed)
    read_bytes(path)
    raise DataError(
        f"Cannot tell from its name what {str(path)!r} holds, "
        f"expected {', '.join(_TABLE_ENDS)}, .npz, or a directory of IDX files or CIFAR-10 batches"
    )


def load_arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    """Read an .npz file.

    Raises
    ------
    FormatError
        If the file cannot be read, is no .npz file, or holds Python objects, which could run code.
    """
    try:
        with path.open("rb") as file:
            return read_arrays(file, str(path), MAX_BYTES)
    except OSError as error:
        raise FormatError(f"Cannot read {str(path)!r}: {error.strerror}") from error


def _load_npz(name: str, path: Path, seed: int) -> Dataset:
    arrays = {key.lower(): array for key, array in load_arrays(path).items()}
    parts = {part: _pair(arrays, ends) for part, ends in _PART_ENDS.items()}
    whole = _pair(arrays, ("",))
    if parts["train"] is None and whole is None:
        raise DataError(
            f"{str(path)!r} holds {', '.join(map(repr, arrays)) or 'nothing'}, "
            "expected 'x' and 'y', or 'x_train', 'y_train', 'x_test' and 'y_test'"
        )
    given = [pair for pair in (parts["train"] or whole, parts["validation"], parts["test"]) if pair]
    samples = [_samples(x, path) for x, _ in given]
    classes, labels = _classes([y for _, y in given], path)
    splits = list(zip(samples, labels, strict=True))
    features = _array_names(given[0][0], arrays.get("feature_names"))
    if len(given) == 1:
        return share_out(name, features, classes, *_checked(*splits[0], path), seed)
    if parts["test"] is None:
        raise DataError(f"{str(path)!r} has a validation set but no test set")
    checked = [_checked(*split, path) for split in splits]
    if len(given) == 2:
        return hold_back(name, features, classes, checked[0], checked[1], seed)
    train, validation, test = (Split(*split) for split in checked)
    return Dataset(name, features, classes, train, validation, test)


def _pair(
    arrays: dict[str, NDArray[np.generic]], ends: tuple[str, ...]
) -> tuple[NDArray[np.generic], NDArray[np.generic]] | None:
    """Return the samples and labels whose names have one of these ends, if both are there."""
    x, y = (
        next((arrays[stem + end] for stem in stems for end in ends if stem + end in arrays), None)
        for stems in (_X_NAMES, _Y_NAMES)
    )
    return None if x is None or y is None else (x, y)


def _samples(x: NDArray[np.generic], path: Path) -> Samples:
    """Return samples as rows, bytes as they are and other numbers as floating point."""
    if x.dtype.kind not in "biuf" or x.ndim < 2:
        raise DataError(
            f"{str(path)!r} has samples of type {x.dtype} and shape {x.shape}, "
            "expected numbers with at least two dimensions"
        )
    if x.size == 0:
        raise DataError(
            f"{str(path)!r} has samples of shape {x.shape}, "
            "expected at least one sample and one feature"
        )
    return x.reshape(len(x), -1).astype(np.uint8 if x.dtype == np.uint8 else np.float64)


def _classes(
    parts: list[NDArray[np.generic]], path: Path
) -> tuple[tuple[str, ...], list[Integers]]:
    """Return the names of the classes, and the labels of each part as numbers."""
    texts = [[str(label) for label in part.ravel().tolist()] for part in parts]
    for part in texts:
        for sample in (number for number, label in enumerate(part) if is_missing(label)):
            raise DataError(
                f"{str(path)!r} has {part[sample]!r} as the label of sample {sample} "
                f"of {len(part)}, expected the class of the sample"
            )
    classes, y = number_classes([label for part in texts for label in part])
    if are_too_many(classes, len(y)):
        raise DataError(
            f"{str(path)!r} has {len(classes)} different labels of {len(y)} samples, "
            "expected classes"
        )
    return classes, np.split(y, np.cumsum([len(part) for part in texts])[:-1])


def _checked(x: Samples, y: Integers, path: Path) -> tuple[Samples, Integers]:
    if len(x) != len(y):
        raise DataError(f"{str(path)!r} has {len(x)} samples but {len(y)} labels")
    return x, y


def _array_names(x: NDArray[np.generic], given: NDArray[np.generic] | None) -> tuple[str, ...]:
    num_features = int(np.prod(x.shape[1:]))
    if given is not None and given.size == num_features:
        return tuple(str(name) for name in given.ravel().tolist())
    if x.ndim == 3:
        return pixel_names(*x.shape[1:])
    return tuple(f"feature_{feature}" for feature in range(num_features))


def _load_directory(name: str, path: Path, seed: int) -> Dataset:
    try:
        files = sorted(entry for entry in path.iterdir() if entry.is_file())
    except OSError as error:
        raise FormatError(f"Cannot read {str(path)!r}: {error.strerror}") from error
    idx = {
        f"{part}-{kind}": next((file for file in files if re.search(pattern, file.name)), None)
        for part, stem in (("train", "train"), ("test", "t10k|test"))
        for kind in ("images", "labels")
        for pattern in [rf"(^|[-_.])({stem})[-_.]{kind}[-_.]idx[13][-_.]ubyte(\.gz)?$"]
    }
    if all(idx.values()):
        return _load_idx(name, *(file for file in idx.values() if file), seed=seed)
    for end, parse in ((".bin", parse_cifar_binary), ("", parse_cifar_pickle)):
        train = [path / f"data_batch_{number}{end}" for number in range(1, 6)]
        test = path / f"test_batch{end}"
        if test in files and any(file in files for file in train):
            batches = [file for file in train if file in files]
            return _load_cifar(name, batches, test, parse, seed)
    raise DataError(
        f"Directory {str(path)!r} holds neither the four IDX files of an MNIST "
        "(train-images-idx3-ubyte …) nor the batches of CIFAR-10 (data_batch_1 … test_batch)"
    )


def _load_idx(
    name: str, train_x: Path, train_y: Path, test_x: Path, test_y: Path, *, seed: int
) -> Dataset:
    parsed = [
        parse_idx(decompress(read_bytes(file), str(file), MAX_BYTES), str(file))
        for file in (train_x, train_y, test_x, test_y)
    ]
    classes, labels = number_classes([str(label) for y in parsed[1::2] for label in y.tolist()])
    names = _array_names(parsed[0], None)
    train, test = (
        _checked(x.reshape(len(x), -1), y, file)
        for x, y, file in zip(
            parsed[::2], np.split(labels, [len(parsed[1])]), (train_x, test_x), strict=True
        )
    )
    return hold_back(name, names, classes, train, test, seed)


def _load_cifar(
    name: str,
    batches: list[Path],
    test: Path,
    parse: Callable[[bytes, str], tuple[Bytes, Bytes]],
    seed: int,
) -> Dataset:
    x, y = zip(*(parse(read_bytes(file), str(file)) for file in batches), strict=True)
    test_x, test_y = parse(read_bytes(test), str(test))
    return hold_back(
        name,
        colour_names(32, 32),
        CIFAR10_CLASSES,
        (np.concatenate(x), np.concatenate(y).astype(np.int64)),
        (test_x, test_y.astype(np.int64)),
        seed,
    )

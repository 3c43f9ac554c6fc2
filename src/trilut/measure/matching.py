"""Samples that fit a netlist: its own data set, its features and its classes, found by name."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from trilut.circuit.netlist import Netlist
from trilut.data import Dataset, Split, load_dataset
from trilut.data.columns import Table
from trilut.data.dataset import Integers, Samples
from trilut.data.frames import frame_table
from trilut.data.names import dataset_path
from trilut.data.naming import read_options
from trilut.data.selection import feature_values
from trilut.data.tables import Kind, columns_for, read_table
from trilut.errors import DataError, NetlistError

__all__ = [
    "Part",
    "cannot_classify",
    "default_part",
    "features_for",
    "frame_features",
    "is_own_file",
    "netlist_dataset",
    "samples_for",
    "table_features",
    "table_samples",
]

Part = Literal["train", "validation", "test", "all"]
"""A split of a data set, or all of its samples."""


def netlist_dataset(
    netlist: Netlist, *, name: str | None = None, seed: int | None = None
) -> Dataset:
    """Load a data set by name, or the one that a netlist was trained on.

    The latter has the name that it was trained by, wherever it has been found.

    Raises
    ------
    DataError
        If no name is given and the netlist does not say, or the data set cannot be used.
    FormatError
        If it is a file that cannot be read.
    """
    origin = _origin(netlist)
    chosen = name or _trained_on(netlist)
    if chosen is None:
        raise DataError(
            f"Netlist {netlist.name!r} does not say what it was trained on; name a data set"
        )
    is_own = name is None or name == origin.get("name")
    if seed is None:
        recorded = origin.get("seed")
        seed = recorded if is_own and isinstance(recorded, int) else 0
    dataset = load_dataset(chosen, seed=seed)
    return dataclasses.replace(dataset, name=origin["name"]) if is_own else dataset


def samples_for(netlist: Netlist, dataset: Dataset, *, part: Part = "test") -> Split:
    """Return samples of a data set with the features and classes of a netlist, matched by name.

    Raises
    ------
    NetlistError
        If the netlist has no encoder or no head.
    DataError
        If the data set lacks a feature of the netlist, or has a class that the netlist has not.
    """
    if netlist.encoder is None or netlist.head is None:
        raise cannot_classify(netlist)
    x = features_for(netlist, dataset, part=part)
    _, y = _part(dataset, part)
    return Split(x, _class_numbers(netlist, dataset.name, dataset.class_names, y))


def features_for(netlist: Netlist, dataset: Dataset, *, part: Part = "test") -> Samples:
    """Return the values [sample, feature] that :func:`samples_for` does, which need no head.

    Raises
    ------
    NetlistError
        If the netlist has no encoder.
    DataError
        If the data set lacks a feature of the netlist.
    """
    if netlist.encoder is None:
        raise NetlistError(f"Netlist {netlist.name!r} has no encoder, so it takes no samples")
    columns = _columns([feature.name for feature in netlist.encoder.features], netlist, dataset)
    x, _ = _part(dataset, part)
    return x if columns is None else x[:, columns]


def table_samples(netlist: Netlist, name: str) -> Split:
    """Return all samples of a table with the features and classes of a netlist, matched by name.

    Other columns may hold anything. There may be few samples, or of one class only.

    Parameters
    ----------
    name : str
        Path of the table, with ``:label=COLUMN`` for the column of the classes; without, it is that
        of the table that the netlist was trained on, if there is such a column, or the last.

    Raises
    ------
    NetlistError
        If the netlist has no encoder or no head.
    FormatError, DataError
        If the table cannot be read, lacks a feature, or has a class that the netlist has not.
    """
    if netlist.encoder is None or netlist.head is None:
        raise cannot_classify(netlist)
    path, options = read_options(name)
    encoder, label = netlist.encoder, ""

    def kinds(header: tuple[str, ...]) -> Mapping[str, Kind]:
        nonlocal label
        own = read_options(_trained_on(netlist) or "")[1].label
        label = options.label or (own if own in header else header[-1])
        names = [feature.name for feature in encoder.features]
        return columns_for(str(path), names, encoder.categories, label)(header)

    table = read_table(path, kinds, header=options.header)
    column = table.labels(label)
    # Not as numbers: 1 and 1.0 may be two classes of the netlist.
    y = _class_numbers(netlist, name, column.texts or (), column.values.astype(np.int64))
    return Split(table_features(netlist, table), y)


def table_features(netlist: Netlist, table: Table) -> Samples:
    """Return the rows of a table as samples of a netlist: columns by name, categories as it has.

    A category that the netlist does not know is missing, and so UNKNOWN to the circuit.

    Raises
    ------
    NetlistError
        If the netlist has no encoder.
    DataError
        If a column is not there, or holds texts where the netlist reads numbers.
    """
    if netlist.encoder is None:
        raise NetlistError(f"Netlist {netlist.name!r} has no encoder, so it takes no samples")
    names = [feature.name for feature in netlist.encoder.features]
    return feature_values(table, names, netlist.encoder.categories)


def frame_features(netlist: Netlist, frame: Any) -> Samples:
    """Return the rows of a data frame as :func:`table_features` does."""
    return table_features(netlist, frame_table(frame))


def default_part(netlist: Netlist, name: str | None) -> Part:
    """Return which samples of a data set to measure, if the user does not say.

    Those of the test set; but all of them, if the data set is a file that the netlist was not
    trained on. No name stands for what it was trained on.
    """
    is_file = name is not None and dataset_path(name) is not None
    return "all" if is_file and not is_own_file(netlist, name) else "test"


def is_own_file(netlist: Netlist, name: str | None) -> bool:
    """Return whether a name means the file that a netlist was trained on, however it is spelt."""
    path, own = (dataset_path(each) if each else None for each in (name, _trained_on(netlist)))
    return path is not None and own is not None and path.samefile(own)


def _origin(netlist: Netlist) -> Mapping[str, Any]:
    origin = netlist.provenance.get("data")
    return origin if isinstance(origin, dict) else {}


def _trained_on(netlist: Netlist) -> str | None:
    """Return what loads the data set that a netlist was trained on, if it says so.

    A file is looked for where it was then, and otherwise by the name that it was given.
    """
    name, absolute = (_origin(netlist).get(key) for key in ("name", "absolute_name"))
    if not (isinstance(name, str) and name):
        return None
    is_there = isinstance(absolute, str) and dataset_path(absolute) is not None
    return str(absolute) if is_there else name


def _class_numbers(
    netlist: Netlist, name: str, class_names: tuple[str, ...], y: Integers
) -> Integers:
    """Return labels as the netlist numbers its classes: by the same text, or the same number."""
    assert netlist.head is not None
    classes = netlist.head.classes
    numbers = np.array([_class_number(each, classes) for each in class_names])
    for label in np.unique(y[numbers[y] < 0]):
        raise DataError(
            f"Data set {name!r} has the class {class_names[label]!r}, "
            f"but netlist {netlist.name!r} knows only {', '.join(map(repr, classes))}"
        )
    return numbers[y]


def _class_number(name: str, classes: tuple[str, ...]) -> int:
    """Return which of the classes a name means, −1 for none.

    Whether a file spells a class 1 or 1.0 depends on what other classes it has.
    """
    if name in classes:
        return classes.index(name)
    value = _as_number(name)
    return next((number for number, each in enumerate(classes) if _as_number(each) == value), -1)


def _as_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _part(dataset: Dataset, part: Part) -> tuple[Samples, Integers]:
    if part != "all":
        split: Split = getattr(dataset, part)
        return split.x, split.y
    splits = (dataset.train, dataset.validation, dataset.test)
    return np.concatenate([each.x for each in splits]), np.concatenate([each.y for each in splits])


def _columns(wanted: list[str], netlist: Netlist, dataset: Dataset) -> list[int] | None:
    """Return the column of each feature; None if they are those of the data set as they stand."""
    if tuple(wanted) == dataset.feature_names:
        return None
    column = {name: number for number, name in enumerate(dataset.feature_names)}
    for name in wanted:
        if name not in column:
            found = ", ".join(map(repr, dataset.feature_names[:8]))
            more = ", …" if dataset.num_features > 8 else ""
            raise DataError(
                f"Data set {dataset.name!r} has no feature {name!r}, which netlist "
                f"{netlist.name!r} reads; it has {found}{more}"
            )
    return [column[name] for name in wanted]


def cannot_classify(netlist: Netlist) -> NetlistError:
    """Return what to say of a netlist that cannot classify samples."""
    return NetlistError(
        f"Netlist {netlist.name!r} has no encoder or no head, so it cannot classify samples"
    )

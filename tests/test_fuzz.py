"""Broken files: every reader answers with a clear error, and in little memory."""

import dataclasses
import gzip
import io
import json
import re
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from circuits import random_netlist, random_nodes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_report_synthesis import some_report

from trilut import TrilutError, digest, load
from trilut.boards.board import load_board
from trilut.circuit.format import dumps
from trilut.data import load_dataset
from trilut.data.images import parse_cifar_binary, parse_cifar_pickle, parse_idx
from trilut.report.summary import netlist_facts
from trilut.report.synthesis import read_synthesis_report
from trilut.synth import load_target
from trilut.synth.asic.liberty import read_liberty

ROOT = Path(__file__).parent.parent
# What a reader may take at most, above what the file itself takes.
MOST_BYTES = 32 << 20
# Values that a length or a count in a file could be broken to.
NUMBERS = (
    *(b"0", b"-1", b"4294967295", b"1e308", b"1e999", b"NaN", b"9" * 400, b"9" * 5000),
    *(b"\xff\xff\xff\xff", b"null", b'"\\ud800"'),
)


def read_idx(path: Path) -> object:
    return parse_idx(path.read_bytes(), "file")


def use_netlist(path: Path) -> object:
    netlist = load(path)
    return digest(netlist).encode(), netlist_facts(netlist)


def npz_file() -> bytes:
    content = io.BytesIO()
    rng = np.random.default_rng(0)
    np.savez(content, x=rng.integers(0, 255, (30, 4), dtype=np.uint8), y=np.arange(30) % 3)
    return content.getvalue()


def csv_file() -> bytes:
    rows = [
        f"{index % 7},{index * 0.5},{'' if index % 5 else index},c{index % 2}"
        for index in range(24)
    ]
    return "\n".join(["a,b,d,label", *rows, ""]).encode()


def target_file() -> bytes:
    return (ROOT / "src/trilut/synth/targets/ecp5.toml").read_bytes()


def board_file() -> bytes:
    page = (ROOT / "docs/boards.md").read_text()
    return page.split("```toml\n")[1].split("```")[0].encode()


def liberty_file() -> bytes:
    return (
        b'library (small) { time_unit : "1ns"; cell (INV) { area : 1.5;\n'
        b"pin (A) { direction : input; capacitance : 0.01; }\n"
        b'pin (Y) { direction : output; function : "!A"; timing () { related_pin : "A";\n'
        b'cell_rise (t) { values ("0.1, 0.2", "0.3, 0.4"); } } } } }\n'
    )


def report_file() -> bytes:
    return json.dumps(some_report().document).encode()


def nodes_file() -> bytes:
    shape = {"num_inputs": 6, "num_gates": 12, "num_outputs": 4, "num_classes": 2}
    return dumps(random_nodes(0, **shape, scores=True, with_encoder=True)).encode()


def netlist_file() -> bytes:
    net = random_netlist(
        0, num_inputs=8, num_gates=12, num_outputs=6, num_classes=2, with_encoder=True
    )
    return dumps(dataclasses.replace(net, provenance={"rate": 0.5, "steps": [20]})).encode()


READERS: dict[str, tuple[str, Callable[[], bytes], Callable[[Path], object]]] = {
    "netlist": ("net.trilut", netlist_file, use_netlist),
    "nodes": ("net.trilut", nodes_file, lambda path: digest(load(path))),
    "CSV": ("data.csv", csv_file, lambda path: load_dataset(str(path))),
    "npz": ("data.npz", npz_file, lambda path: load_dataset(str(path))),
    "IDX": ("images", lambda: struct.pack(">4B3I", 0, 0, 8, 3, 5, 4, 4) + bytes(80), read_idx),
    "CIFAR, binary": (
        "batch",
        lambda: bytes(2 * 3073),
        lambda path: parse_cifar_binary(path.read_bytes(), "file"),
    ),
    "CIFAR, Python": (
        "batch",
        lambda: b"\x80\x04}.",
        lambda path: parse_cifar_pickle(path.read_bytes(), "file"),
    ),
    "target": ("part.toml", target_file, lambda path: load_target(str(path))),
    "board": ("board.toml", board_file, load_board),
    "liberty": ("cells.lib", liberty_file, read_liberty),
    "compressed liberty": ("cells.lib.gz", lambda: gzip.compress(liberty_file()), read_liberty),
    "synthesis report": ("synthesis.json", report_file, read_synthesis_report),
}


MEBIBYTE = gzip.compress(b" " * (1 << 20), mtime=0)


def npz_bomb() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        header = io.BytesIO()
        shape = (1100 << 20,)
        np.lib.format.write_array_header_1_0(
            header, {"descr": "|u1", "fortran_order": False, "shape": shape}
        )
        with archive.open("x.npy", "w") as member:
            member.write(header.getvalue())
            for _ in range(1100):
                member.write(bytes(1 << 20))
    return content.getvalue()


# What holds more than a reader takes, and the MiB that it takes.
BOMBS: dict[str, tuple[str, Callable[[], bytes], int]] = {
    "netlist": ("net.trilut.gz", lambda: MEBIBYTE * 1100, 128),
    "npz": ("data.npz", npz_bomb, 1024),
    "compressed liberty": ("cells.lib.gz", lambda: MEBIBYTE * 1100, 256),
}
DEEP_LIST = b"[" * 990 + b"]" * 990
# Nested so deeply that a recursive reader fails, or that readers of what was read would.
DEEP: dict[str, tuple[str, bytes, str]] = {
    "netlist": ("net.trilut", DEEP_LIST, "{path!r}: Not JSON: nested too deeply"),
    "synthesis report": (
        "synthesis.json",
        DEEP_LIST,
        "Synthesis report {path!r} is not JSON: nested too deeply",
    ),
    "target": (
        "part.toml",
        b"a = " + b"[\n" * 2000,
        "Target file {path!r} is not TOML: nested too deeply",
    ),
    "board": (
        "board.toml",
        b"a" + b".a" * 200 + b" = 1",
        "{path!r} is not TOML: nested too deeply",
    ),
}


def read_error(reader: str, path: Path) -> str:
    with pytest.raises(TrilutError) as caught:
        READERS[reader][2](path)
    return str(caught.value)


@pytest.mark.parametrize("reader", BOMBS)
def test_a_small_file_that_holds_much_is_not_read_to_its_end(reader, tmp_path):
    name, content, most = BOMBS[reader]
    path = tmp_path / name
    path.write_bytes(content())
    tracemalloc.start()
    assert read_error(reader, path) == f"{str(path)!r} holds more than {most} MiB"
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < (most << 20) * 1.2 + MOST_BYTES


def test_a_line_without_an_end_is_not_read_to_it(tmp_path):
    path = tmp_path / "data.csv.gz"
    path.write_bytes(MEBIBYTE * 1100)
    tracemalloc.start()
    message = f"{str(path)!r} has a line of more than 16777216 characters"
    assert read_error("CSV", path) == message
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 16_777_216 + MOST_BYTES


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000000,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': " + "(" * 9000,
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
    ],
    ids=["large", "deep", "negative"],
)
def test_an_array_that_lies_about_its_shape(header, tmp_path):
    path = tmp_path / "data.npz"
    text = header.encode() + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(64)
        archive.writestr("x.npy", content)
    assert read_error("npz", path).startswith(
        f"{str(path)!r} is not an .npz file of plain arrays: "
    )


@pytest.mark.parametrize(
    ("reader", "title"), [("target", "Target file {path!r}"), ("board", "{path!r}")]
)
def test_a_name_of_many_parts_does_not_take_memory_by_their_square(reader, title, tmp_path):
    path = tmp_path / "part.toml"
    path.write_bytes(b"# line\na" + b".a" * 100_000 + b" = 1")
    assert read_error(reader, path) == (
        f"{title.format(path=str(path))} has 200005 characters in line 2, expected at most 1000"
    )


@pytest.mark.parametrize(
    ("member", "place", "long", "message"),
    [
        ("table", 5, "-" * (1 << 20), "'nodes.table[5]' has 1048576 rows, expected 2…64"),
        (
            "table",
            5,
            [1] * 65,
            "'nodes.table[5]' is [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ..., expected a string",
        ),
        (
            "sources",
            7,
            [0] * (1 << 17),
            "'nodes.sources[7]' is [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ..., expected 1…6 nets",
        ),
    ],
    ids=["rows", "array", "sources"],
)
def test_one_long_row_does_not_make_all_gates_as_long(member, place, long, message, tmp_path):
    document = json.loads(nodes_file())
    count = 20_000
    document["kinds"] = document["kinds"][:6] + "b" * count
    document["nodes"] = {"sources": [[1]] * count, "table": ["-+"] * count}
    document["nodes"][member] = [*document["nodes"][member]]
    document["nodes"][member][place] = long
    path = tmp_path / "net.trilut"
    path.write_text(json.dumps(document))
    tracemalloc.start()
    assert read_error("nodes", path) == f"{str(path)!r}: {message}"
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST_BYTES + 8 * path.stat().st_size


@pytest.mark.parametrize("reader", DEEP)
def test_a_file_that_is_nested_too_deeply(reader, tmp_path):
    name, content, message = DEEP[reader]
    path = tmp_path / name
    path.write_bytes(content)
    assert read_error(reader, path) == message.format(path=str(path))


@st.composite
def damage(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Return a function that breaks the content of a file."""
    kind = draw(st.sampled_from(["cut", "flip", "number", "repeat", "delete", "noise"]))
    start, length = draw(st.floats(0, 1)), draw(st.integers(1, 40))
    octets = draw(st.binary(min_size=1, max_size=40))
    which, number = draw(st.floats(0, 1)), draw(st.sampled_from(NUMBERS))

    def broken(content: bytes) -> bytes:
        place = int(start * len(content))
        end = place + length
        if kind == "cut":
            return content[:place]
        if kind == "flip":
            return content[:place] + octets + content[place + len(octets) :]
        if kind == "repeat":
            return content[:end] + content[place:]
        if kind == "delete":
            return content[:place] + content[end:]
        numbers = list(re.finditer(rb"-?\d+(\.\d+)?", content))
        if kind == "number" and numbers:
            match = numbers[int(which * (len(numbers) - 1))]
            return content[: match.start()] + number + content[match.end() :]
        return octets * length

    return broken


@pytest.mark.parametrize("reader", READERS)
def test_an_undamaged_file_can_be_read(reader, tmp_path):
    name, content, read = READERS[reader]
    if reader == "CIFAR, Python":
        return  # A pickle of nothing: only the damage is of interest.
    (tmp_path / name).write_bytes(content())
    read(tmp_path / name)


@pytest.mark.parametrize("reader", READERS)
@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(damage=damage())
def test_a_damaged_file_gives_a_clear_error_or_none(reader, tmp_path, damage):
    name, content, read = READERS[reader]
    path = tmp_path / name
    path.write_bytes(damage(content()))
    tracemalloc.start()
    # Any other exception fails the test.
    with suppress(TrilutError):
        read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST_BYTES + 8 * path.stat().st_size

"""The ``.trilut`` file: reader and writer of netlists.

The format is specified in ``docs/netlist-format.md`` and ``netlist.schema.json``.
"""

import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.document import (
    elements,
    integer,
    integers,
    member,
    most_values,
    number,
    parse_document,
    short,
)
from trilut.circuit.encoder import Encoder, Feature
from trilut.circuit.gates import gate_id, gate_table, num_gates
from trilut.circuit.head import Head
from trilut.circuit.kinds import MAX_SCORE, MAX_WIRES, NO_NET, Kind
from trilut.circuit.limits import (
    MAX_BITS,
    MAX_BYTES,
    MAX_INPUTS,
    MAX_INTEGER,
    MAX_VALUES,
)
from trilut.circuit.netlist import Netlist
from trilut.circuit.sequential import SequentialNetlist
from trilut.errors import FormatError, NetlistError
from trilut.files import decompress, read_bytes, write_atomically

__all__ = [
    "FORMAT",
    "VERSION",
    "digest",
    "dumps",
    "load",
    "load_circuit",
    "loads",
    "loads_circuit",
    "save",
]

FORMAT = "trilut-netlist"
VERSION = 4
"""The newest version; a netlist is written as the oldest that can say what it means."""

_LETTERS = {Kind.BIT: "b", Kind.TRIT: "t", Kind.SCORE: "s"}
_KINDS = {letter: kind for kind, letter in _LETTERS.items()}
_SIGNS = "-0+"
_SIGN_BYTES = np.frombuffer(_SIGNS.encode(), dtype=np.uint8)
_VALUES = {sign: value for value, sign in enumerate(_SIGNS, start=-1)}
_SCORES = range(-MAX_SCORE, MAX_SCORE)
_MAX_ROWS = 1 << MAX_WIRES

_Integer = TypeVar("_Integer", np.int8, np.int64)
_Circuit = TypeVar("_Circuit", Netlist, Netlist | SequentialNetlist)


def dumps(netlist: Netlist | SequentialNetlist) -> str:
    """Write a netlist as JSON text, one top-level member a line. Equal netlists give equal text."""
    core = netlist.core if isinstance(netlist, SequentialNetlist) else netlist
    document: dict[str, object] = {
        "format": FORMAT,
        "version": _version(netlist),
        "name": netlist.name,
        **_kinds_document(core),
        "num_inputs": core.num_inputs,
        "encoder": _encoder_document(netlist.encoder),
        **_gates_document(core),
        "outputs": core.outputs.tolist(),
        "head": _head_document(core.head),
        **({"reset": _signs(netlist.resets)} if isinstance(netlist, SequentialNetlist) else {}),
        "provenance": dict(netlist.provenance),
    }
    members = [
        f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}"
        for key, value in document.items()
    ]
    return "{\n" + ",\n".join(members) + "\n}\n"


def _version(netlist: Netlist | SequentialNetlist) -> int:
    if isinstance(netlist, SequentialNetlist):
        return 4
    encoder = netlist.encoder
    is_mixed = encoder is not None and len(np.unique(encoder.missing)) > 1
    if (
        is_mixed
        or not netlist.is_two_input
        or (netlist.head is not None and netlist.head.limit > 1)
    ):
        return 3
    has_seen = encoder is not None and any(feature.seen for feature in encoder.features)
    return 2 if has_seen else 1


def _kinds_document(netlist: Netlist) -> dict[str, object]:
    if netlist.is_two_input:
        return {"valence": netlist.valence}
    return {"kinds": "".join(map(_LETTERS.__getitem__, netlist.kinds.tolist()))}


def _gates_document(netlist: Netlist) -> dict[str, object]:
    if netlist.is_two_input:
        ids = gate_id(netlist.table, netlist.valence).tolist()
        return {"gates": {"id": ids, "a": netlist.a.tolist(), "b": netlist.b.tolist()}}
    is_read = netlist.sources != NO_NET
    tables = zip(netlist.table, netlist.num_rows, netlist.kinds[netlist.num_inputs :], strict=True)
    return {
        "nodes": {
            "sources": [
                row[:arity].tolist()
                for row, arity in zip(netlist.sources, is_read.sum(axis=1), strict=True)
            ],
            "table": [
                table[:rows].tolist() if kind == Kind.SCORE else _signs(table[:rows])
                for table, rows, kind in tables
            ],
        }
    }


def _signs(table: NDArray[np.int8]) -> str:
    return _SIGN_BYTES[table + 1].tobytes().decode()


def digest(netlist: Netlist | SequentialNetlist) -> str:
    """Return the SHA-256 of the netlist's JSON text in hexadecimal."""
    return hashlib.sha256(dumps(netlist).encode()).hexdigest()


def save(netlist: Netlist | SequentialNetlist, path: str | Path) -> None:
    """Write a netlist to a file, compressed if the name ends in ``.gz``.

    Raises
    ------
    FormatError
        If the file cannot be written, or would be larger than a reader takes.
    """
    path = Path(path)
    text = dumps(netlist)
    data = text.encode()
    if len(data) > MAX_BYTES or most_values(text) > MAX_VALUES:
        raise FormatError(f"Cannot write {str(path)!r}: the netlist is larger than a reader takes")
    # Without a time stamp, equal netlists give equal files.
    write_atomically(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def load(path: str | Path) -> Netlist:
    """Read a netlist without state from a file.

    Raises
    ------
    FormatError
        If the file cannot be read, is too large, is not a netlist, has state, or has a version that
        is not supported.
    """
    return _load(path, loads)


def load_circuit(path: str | Path) -> Netlist | SequentialNetlist:
    """Read a netlist with or without state from a file; see :func:`load`."""
    return _load(path, loads_circuit)


def _load(path: str | Path, read: Callable[[str], _Circuit]) -> _Circuit:
    path = Path(path)
    data = decompress(read_bytes(path, MAX_BYTES), str(path), MAX_BYTES)
    try:
        return read(data.decode())
    except UnicodeDecodeError as error:
        raise FormatError(f"{str(path)!r} is not UTF-8 text at byte {error.start}") from error
    except (FormatError, NetlistError) as error:
        raise FormatError(f"{str(path)!r}: {error}") from error


def loads(text: str) -> Netlist:
    """Read a netlist without state from JSON text; see :func:`load`."""
    circuit = loads_circuit(text)
    if isinstance(circuit, SequentialNetlist):
        raise FormatError("The circuit has state, expected one without")
    return circuit


def loads_circuit(text: str) -> Netlist | SequentialNetlist:
    """Read a netlist with or without state from JSON text; see :func:`load`."""
    document = parse_document(text)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(f'Not a netlist: expected a JSON object with "format": "{FORMAT}"')
    version = document.get("version")
    if type(version) is not int or version not in _READERS:
        raise FormatError(
            f"Netlist format version {version!r} is not supported, "
            f"expected one of {', '.join(map(str, _READERS))}"
        )
    return _READERS[version](document)


def _encoder_document(encoder: Encoder | None) -> dict[str, object] | None:
    if encoder is None:
        return None
    document: dict[str, object] = {
        "features": [
            {
                "name": feature.name,
                "bits": feature.bits,
                "signed": feature.signed,
                "scale": feature.scale,
                "offset": feature.offset,
                **({} if feature.seen is None else {"seen": list(feature.seen)}),
            }
            for feature in encoder.features
        ],
        "feature": encoder.feature.tolist(),
        "low": encoder.low.tolist(),
        "high": encoder.high.tolist(),
        "missing": _missing_document(encoder),
    }
    if encoder.categories:
        document["categories"] = {name: list(known) for name, known in encoder.categories.items()}
    return document


def _missing_document(encoder: Encoder) -> int | list[int]:
    values = encoder.missing.tolist()
    return values if len(set(values)) > 1 else min(values, default=0)


def _head_document(head: Head | None) -> dict[str, object] | None:
    if head is None:
        return None
    document: dict[str, object] = {
        "classes": list(head.classes),
        "group_sizes": list(head.group_sizes),
        "tau": head.tau,
        "abstain_margin": head.abstain_margin,
    }
    if head.set_margin is not None:
        document["set_margin"] = head.set_margin
    if head.limit > 1:
        document["limit"] = head.limit
    return document


def _read_version_4(document: dict[str, Any]) -> SequentialNetlist:
    """Read a circuit with state."""
    member(document, "head", type(None), "")
    core = _read_version_3({**document, "encoder": None, "name": "core", "provenance": {}})
    encoder = member(document, "encoder", (dict, type(None)), "")
    return SequentialNetlist(
        core,
        _read_resets(document),
        None if encoder is None else _read_encoder(encoder),
        member(document, "name", str, ""),
        member(document, "provenance", dict, ""),
    )


def _read_resets(document: dict[str, Any]) -> NDArray[np.int8]:
    signs: str = member(document, "reset", str, "")
    if not set(signs) <= _VALUES.keys():
        raise FormatError(f"'reset' is {short(signs)}, expected the characters -, 0 and +")
    return np.array([_VALUES[sign] for sign in signs], dtype=np.int8)


def _read_version_3(document: dict[str, Any]) -> Netlist:
    if "gates" in document and "nodes" in document:
        raise FormatError("Netlist has both 'gates' and 'nodes', expected one of them")
    return _read_gates(document) if "gates" in document else _read_nodes(document)


def _read_gates(document: dict[str, Any]) -> Netlist:
    """Read a netlist of two-input gates."""
    valence = member(document, "valence", int, "")
    if valence not in (2, 3):
        raise FormatError(f"'valence' is {valence}, expected 2 or 3")
    gates = member(document, "gates", dict, "")
    ids = integers(gates, "id", "gates")
    for gate in np.flatnonzero((ids < 0) | (ids >= num_gates(valence))):
        raise FormatError(f"'gates.id[{gate}]' is {ids[gate]}, expected 0…{num_gates(valence) - 1}")
    return Netlist.of_gates(
        num_inputs=integer(document, "num_inputs", "", MAX_INPUTS),
        table=gate_table(ids, valence).astype(np.int8),
        a=integers(gates, "a", "gates"),
        b=integers(gates, "b", "gates"),
        outputs=integers(document, "outputs", ""),
        valence=valence,
        **_read_rest(document),
    )


def _read_nodes(document: dict[str, Any]) -> Netlist:
    """Read a netlist of any gates."""
    nodes = member(document, "nodes", dict, "")
    num_inputs = integer(document, "num_inputs", "", MAX_INPUTS)
    sources = _read_sources(nodes)
    kinds = _read_kinds(document, num_inputs + len(sources))
    tables, num_rows = _read_tables(nodes, kinds[num_inputs:])
    # What a gate reads beyond the nets is the netlist's to refuse.
    read = np.where(sources < len(kinds), sources, NO_NET)
    expected = np.append(kinds, np.int8(1))[read].prod(axis=1, dtype=np.int64)
    for gate in np.flatnonzero(num_rows != expected):
        raise FormatError(
            f"'nodes.table[{gate}]' has {num_rows[gate]} rows, expected {expected[gate]}"
        )
    return Netlist(
        num_inputs=num_inputs,
        table=tables,
        sources=sources,
        outputs=integers(document, "outputs", ""),
        kinds=kinds,
        **_read_rest(document),
    )


def _read_sources(nodes: dict[str, Any]) -> NDArray[np.int64]:
    rows = elements(nodes, "sources", list, "nodes")
    for gate, row in enumerate(rows):
        are_nets = all(type(net) is int and 0 <= net <= MAX_INTEGER for net in row)
        if not (are_nets and 1 <= len(row) <= MAX_WIRES):
            raise FormatError(
                f"'nodes.sources[{gate}]' is {short(row)}, expected 1…{MAX_WIRES} nets"
            )
    flat = np.fromiter(chain.from_iterable(rows), np.int64)
    return _padded(flat, rows, NO_NET)


def _read_kinds(document: dict[str, Any], num_nets: int) -> NDArray[np.int8]:
    letters: str = member(document, "kinds", str, "")
    for letter in sorted(set(letters) - set(_KINDS)):
        raise FormatError(f"'kinds' has the letter {letter!r}, expected {', '.join(_KINDS)}")
    if len(letters) != num_nets:
        raise FormatError(f"'kinds' has {len(letters)} letters, expected {num_nets}")
    return np.fromiter(map(_KINDS.__getitem__, letters), np.int8, num_nets)


def _read_tables(
    nodes: dict[str, Any], kinds: NDArray[np.int8]
) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Read the tables of gates that make these kinds; return them and how many rows each has."""
    tables = member(nodes, "table", list, "nodes")
    if len(tables) != len(kinds):
        raise FormatError(f"'nodes' has {len(kinds)} sources but {len(tables)} tables")
    for gate, (table, kind) in enumerate(zip(tables, kinds.tolist(), strict=True)):
        _check_table({f"table[{gate}]": table}, f"table[{gate}]", is_score=kind == Kind.SCORE)
    values = np.fromiter(
        chain.from_iterable(
            map(_VALUES.__getitem__, table) if isinstance(table, str) else table for table in tables
        ),
        np.int8,
    )
    return _padded(values, tables, 0), np.fromiter(map(len, tables), np.int64, len(tables))


def _check_table(document: dict[str, Any], key: str, *, is_score: bool) -> None:
    table = member(document, key, list if is_score else str, "nodes")
    if not 1 <= len(table) <= _MAX_ROWS:
        raise FormatError(f"'nodes.{key}' has {len(table)} rows, expected 2…{_MAX_ROWS}")
    if is_score and not all(type(value) is int and value in _SCORES for value in table):
        raise FormatError(f"'nodes.{key}' is {short(table)}, expected {Kind.SCORE.text}")
    if not (is_score or set(table) <= _VALUES.keys()):
        raise FormatError(f"'nodes.{key}' is {short(table)}, expected the characters -, 0 and +")


def _padded(
    flat: NDArray[_Integer], rows: Sequence[Sequence[object]], fill: int
) -> NDArray[_Integer]:
    """Return rows of different lengths, of which all values are given, as one array."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    padded = np.full((len(rows), lengths.max(initial=0)), fill, dtype=flat.dtype)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = flat
    return padded


def _read_rest(document: dict[str, Any]) -> dict[str, Any]:
    encoder = member(document, "encoder", (dict, type(None)), "")
    head = member(document, "head", (dict, type(None)), "")
    return {
        "encoder": None if encoder is None else _read_encoder(encoder),
        "head": None if head is None else _read_head(head),
        "name": member(document, "name", str, ""),
        "provenance": member(document, "provenance", dict, ""),
    }


def _read_encoder(document: dict[str, Any]) -> Encoder:
    features = elements(document, "features", dict, "encoder")
    return Encoder(
        features=tuple(
            _read_feature(feature, f"encoder.features[{index}]")
            for index, feature in enumerate(features)
        ),
        feature=integers(document, "feature", "encoder"),
        low=integers(document, "low", "encoder"),
        high=integers(document, "high", "encoder"),
        missing=_read_missing(document),
        categories=_read_categories(document),
    )


def _read_missing(document: dict[str, Any]) -> Any:
    missing = member(document, "missing", (int, list), "encoder")
    return missing if isinstance(missing, int) else integers(document, "missing", "encoder")


def _read_categories(document: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    # Files that were written before there were categories have none.
    known = member({"categories": {}, **document}, "categories", dict, "encoder")
    return {column: tuple(elements(known, column, str, "encoder.categories")) for column in known}


def _read_feature(document: dict[str, Any], where: str) -> Feature:
    return Feature(
        name=member(document, "name", str, where),
        bits=integer(document, "bits", where, MAX_BITS),
        signed=member(document, "signed", bool, where),
        scale=number(document, "scale", where),
        offset=number(document, "offset", where),
        seen=_read_seen(document, where) if "seen" in document else None,
    )


def _read_seen(document: dict[str, Any], where: str) -> tuple[int, int]:
    seen = integers(document, "seen", where).tolist()
    if len(seen) != 2:
        raise FormatError(f"'{where}.seen' has {len(seen)} integers, expected 2")
    return seen[0], seen[1]


def _read_head(document: dict[str, Any]) -> Head:
    return Head(
        classes=tuple(elements(document, "classes", str, "head")),
        group_sizes=tuple(integers(document, "group_sizes", "head").tolist()),
        tau=number(document, "tau", "head"),
        abstain_margin=integer(document, "abstain_margin", "head"),
        set_margin=integer(document, "set_margin", "head", least=0)
        if "set_margin" in document
        else None,
        limit=integer(document, "limit", "head", MAX_SCORE) if "limit" in document else 1,
    )


def _read_version_2(document: dict[str, Any]) -> Netlist:
    """Read a netlist of the version that knows two-input gates alone."""
    encoder, head = document.get("encoder"), document.get("head")
    if isinstance(encoder, dict):
        member(encoder, "missing", int, "encoder")
    if isinstance(head, dict):
        head.pop("limit", None)
    return _read_gates(document)


def _read_version_1(document: dict[str, Any]) -> Netlist:
    """Read a netlist of the version that knows no ``seen``, which is then any other member."""
    encoder = document.get("encoder")
    features = encoder.get("features") if isinstance(encoder, dict) else None
    for feature in features if isinstance(features, list) else ():
        if isinstance(feature, dict):
            feature.pop("seen", None)
    return _read_version_2(document)


# Every version ever released keeps its reader.
_READERS: dict[int, Callable[[dict[str, Any]], Netlist | SequentialNetlist]] = {
    1: _read_version_1,
    2: _read_version_2,
    3: _read_version_3,
    4: _read_version_4,
}

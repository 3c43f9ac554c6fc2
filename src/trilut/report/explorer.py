"""The explorer: one page that runs a circuit in the browser, without a network.

The parts of the page are files of their own in ``explorer_files``: modules in plain JavaScript, a
style and a template. They are joined here into one document.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.format import digest, dumps
from trilut.circuit.formula import Formula, netlist_formulas
from trilut.circuit.gates import gate_id, gate_name, table_text
from trilut.circuit.kinds import NO_NET, PORTS, Kind
from trilut.circuit.monotone import check_monotone
from trilut.circuit.netlist import Netlist
from trilut.circuit.reach import reachable_rows, ternary_rows, ternary_tables
from trilut.circuit.sequential import SequentialNetlist
from trilut.circuit.wires import NO_WIRE, Wires, lower
from trilut.data import Split
from trilut.errors import NetlistError
from trilut.text import cut, visible

__all__ = ["MODULES", "ExplorerSamples", "explorer_page", "explorer_script"]

MODULES = (
    "circuit",
    "tracing",
    "layout",
    "state",
    "elements",
    "raster",
    "wires",
    "drawing",
    "inputs",
    "panels",
    "explorer",
)
"""The modules of the page, each after those that it imports."""

_FILES = files("trilut.report") / "explorer_files"
_NAME_CHARACTERS = 200
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)
_PLACE = re.compile(r"@([A-Z]+)@")
# Names of the bits of a formula, as people write them.
_LEAVES = {"a_plus": "a⁺", "a_minus": "a⁻", "b_plus": "b⁺", "b_minus": "b⁻"}


@dataclass(frozen=True, slots=True, eq=False)
class ExplorerSamples:
    """Samples to look at.

    Parameters
    ----------
    vectors : FeatureVectors
        The features as integers.
    labels : sequence of str, optional
        The true class of each sample.
    """

    vectors: FeatureVectors
    labels: Sequence[str] = ()

    @classmethod
    def first(cls, netlist: Netlist, split: Split, num_samples: int = 24) -> "ExplorerSamples":
        """Return the first samples of a split that fits a netlist with encoder and head."""
        assert netlist.encoder is not None
        assert netlist.head is not None
        labels = [netlist.head.classes[label] for label in split.y[:num_samples]]
        return cls(netlist.encoder.quantize(split.x[:num_samples]), labels)


def explorer_page(
    circuit: Netlist | SequentialNetlist, samples: ExplorerSamples | None = None
) -> str:
    """Return a page that runs a circuit in the browser; it needs neither network nor server.

    The page allows no script but its own, whatever names the circuit has.
    """
    script, style = explorer_script(), _read("explorer.css")
    values = {
        "POLICY": f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}",
        "TITLE": html.escape(visible(cut(circuit.name, _NAME_CHARACTERS))),
        "STYLE": style,
        "DIGEST": digest(circuit)[:16],
        "VERSION": version("trilut"),
        "DATA": _json_in_html(_document(circuit, samples)),
        "SCRIPT": script,
    }
    # Once from left to right: what is filled in is not looked at again.
    return _PLACE.sub(lambda place: values[place[1]], _read("explorer.html"))


def explorer_script() -> str:
    """Return the modules of the page as one, which needs no imports."""
    texts = (_read(f"{name}.js") for name in MODULES)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts)


def _read(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return what a Content-Security-Policy calls a script or a style of the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json_in_html(document: object) -> str:
    """Write JSON that can stand inside an element ``script``: ASCII, and nothing like a tag."""
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _document(
    circuit: Netlist | SequentialNetlist, samples: ExplorerSamples | None
) -> dict[str, Any]:
    netlist = json.loads(dumps(circuit))
    del netlist["provenance"]
    encoder, head = netlist["encoder"], netlist["head"]
    for named in (netlist, *(encoder["features"] if encoder else ())):
        named["name"] = _shown(named["name"])
    if head:
        head["classes"] = [_shown(name) for name in head["classes"]]
    core = circuit.core if isinstance(circuit, SequentialNetlist) else circuit
    return {
        "netlist": netlist,
        "facts": _facts(core),
        "samples": [] if samples is None else list(_samples(samples)),
    }


def _shown(name: str) -> str:
    return visible(cut(name, _NAME_CHARACTERS))


def _samples(samples: ExplorerSamples) -> Iterable[dict[str, Any]]:
    vectors = samples.vectors
    for number, (values, valid) in enumerate(zip(vectors.values, vectors.valid, strict=True)):
        integers = zip(values.tolist(), valid.tolist(), strict=True)
        sample: dict[str, Any] = {"values": [x if is_valid else None for x, is_valid in integers]}
        yield sample | ({"label": _shown(samples.labels[number])} if samples.labels else {})


def _facts(netlist: Netlist) -> dict[str, Any]:
    """Return what the page says of gates: names, rows that occur, logic and LUTs."""
    rows = reachable_rows(netlist)
    wires = lower(netlist, rows)
    num_inputs = (wires.inputs != NO_WIRE).sum(axis=1)
    own = (rows[gate, :count] for gate, count in enumerate(netlist.num_rows.tolist()))
    return {
        "names": _names(netlist),
        "rows": _coded("".join("01"[row] for row in gate.tolist()) for gate in own),
        "logic": _coded(_logic(netlist, rows, wires)),
        "lut4": _luts(
            netlist, wires, np.where(num_inputs > 4, 1 << np.maximum(num_inputs - 4, 0), 1)
        ),
        "lut6": _luts(netlist, wires, np.ones_like(num_inputs)),
        "not_certain": _not_certain(netlist),
    }


def _names(netlist: Netlist) -> dict[str, str]:
    """Return the names of tables, by their text."""
    if not (netlist.is_two_input and netlist.valence == Kind.TRIT):
        return {}
    tables = np.unique(netlist.table, axis=0)
    named = {table_text(table): gate_name(int(gate_id(table))) for table in tables}
    return {text: name for text, name in named.items() if name is not None}


def _not_certain(netlist: Netlist) -> str:
    """Say why nothing in a circuit can be certain; nothing if something can."""
    try:
        check_monotone(netlist)
    except NetlistError as error:
        reason = str(error).removeprefix(f"Netlist {netlist.name!r} ")
        return f"This circuit {_shown(reason)}."
    return ""


def _coded(texts: Iterable[str]) -> dict[str, Any]:
    """Return texts, one for each gate, as different ones and which of them each gate has."""
    numbers: dict[str, int] = {}
    of = [numbers.setdefault(text, len(numbers)) for text in texts]
    return {"texts": list(numbers), "of": of}


def _luts(netlist: Netlist, wires: Wires, each: NDArray[np.int64]) -> list[int]:
    """Return how many LUTs the wires of each gate take; one that passes a wire on takes none."""
    is_logic = (wires.inputs != NO_WIRE).sum(axis=1) > 1
    total = np.concatenate([[0], np.cumsum(each * is_logic)])
    first = wires.first[netlist.num_inputs :] - wires.num_input_wires
    counts: list[int] = np.diff(total[first]).tolist()
    return counts


def _logic(netlist: Netlist, rows: NDArray[np.bool_], wires: Wires) -> Iterable[str]:
    """Write the logic of each gate: formulas of two-input gates, contents of LUTs of others."""
    if not netlist.is_two_input:
        return (_lut_text(netlist, wires, gate) for gate in range(netlist.num_gates))
    formulas = netlist_formulas(ternary_tables(netlist), ternary_rows(netlist, rows))
    is_bit = netlist.valence == Kind.BIT
    return (_formula_text(plus, None if is_bit else minus) for plus, minus in formulas)


def _formula_text(plus: Formula, minus: Formula | None) -> str:
    text = f"plus = {plus.text(_LEAVES)}"
    return text if minus is None else f"{text}\nminus = {minus.text(_LEAVES)}"


def _lut_text(netlist: Netlist, wires: Wires, gate: int) -> str:
    """Write the table of each wire of a gate, and the wires of its inputs, the lowest first."""
    names: dict[int, str] = {}
    for port, net in zip(PORTS, netlist.sources[gate].tolist(), strict=False):
        if net == NO_NET:
            continue
        is_bit = netlist.kinds[net] == Kind.BIT
        signs = ("",) if is_bit else ("⁺", "⁻")
        names |= {wire: f"{port}{sign}" for wire, sign in zip(wires.of(net), signs, strict=True)}
    net = netlist.num_inputs + gate
    own = _wire_names(Kind(netlist.kinds[net]), len(wires.of(net)))
    lines = []
    for name, wire in zip(own, wires.of(net), strict=True):
        function = wire - wires.num_input_wires
        read = [names[each] for each in wires.inputs[function].tolist() if each != NO_WIRE]
        size = 1 << len(read)
        table = f"{size}'h{int(wires.on[function]):0{max(1, size // 4)}x}"
        lines.append(f"{name} = {table} of {', '.join(read) or 'nothing'}")
    return "\n".join(lines) or "always the same score"


def _wire_names(kind: Kind, count: int) -> Sequence[str]:
    if kind is Kind.SCORE:
        return [f"bit {place}" for place in range(count)]
    return ("value",) if kind is Kind.BIT else ("plus", "minus")

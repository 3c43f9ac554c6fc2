"""The report of a synthesis: derived figures, tables, and the files that hold them.

One section of plain values says everything about one design on one target. The terminal, Markdown,
the page and the report of a flow are made from the same tables of that section.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trilut.circuit.interface import InputKind
from trilut.circuit.sequential import Circuit
from trilut.errors import FormatError
from trilut.files import make_directory, parse_json, read_bytes, write_atomically
from trilut.report.page import machine_facts, render_page, write_page
from trilut.report.plots import section_figures
from trilut.report.summary import circuit_facts, percent, plain
from trilut.report.tables import Table, two_columns
from trilut.synth.path import PathStep, name_path, path_text
from trilut.synth.result import Asic, SynthesisResult
from trilut.synth.target import LOGIC_CELL

if TYPE_CHECKING:
    from trilut.hdl import Design
    from trilut.synth import PipelineChoice, Synthesis

__all__ = [
    "FORMAT",
    "SynthesisReport",
    "make_section",
    "make_synthesis_report",
    "read_synthesis_report",
    "result_document",
    "section_cards",
    "section_rows",
    "section_tables",
    "unit_text",
    "write_synthesis_report",
]

FORMAT = "trilut-synthesis"
_VERSION = 1
_SCHEMA = 1

_KINDS = {
    "lut4": "LUT4",
    "lut6": "LUT6",
    "gate": "cells",
    "ff": "FF",
    "carry": "carry",
    "mux": "mux",
    "bram": "BRAM",
    "dsp": "DSP",
    "other": "other",
    "lut4_equivalents": "LUT4 eq.",
    "lut6_equivalents": "LUT6 eq.",
    "area": "area",
    "gate_equivalents": "gate eq.",
}
"""What the kinds of cells are called, in the order of the columns."""

_BLOCKS_NOTE = (
    "Each block is mapped on its own. Flattening lets logic merge across their borders, so the "
    "whole can be less than their sum."
)


@dataclass(frozen=True, slots=True, eq=False)
class SynthesisReport:
    """What is known of one design on one target.

    Parameters
    ----------
    document : mapping
        Everything, as ``synthesis.schema.json`` specifies it.
    """

    document: Mapping[str, Any]

    @property
    def section(self) -> Mapping[str, Any]:
        """Area and timing; see :func:`make_section`."""
        section: Mapping[str, Any] = self.document["synthesis"]
        return section

    @property
    def title(self) -> str:
        """A heading."""
        return f"{self.document['netlist']['name']} on {self.section['target']}"

    @property
    def tables(self) -> list[Table]:
        """All tables, the summary first."""
        rows = {**_accuracy_row(self.document["accuracy"]), **section_rows(self.section)}
        return [two_columns(self.title, rows), *section_tables(self.section)]

    def markdown(self) -> str:
        """Return the report as Markdown."""
        return "\n".join(table.markdown() for table in [*self.tables, self._tools])

    def page(self) -> str:
        """Return the report as HTML with figures, in one file."""
        return render_page(
            "synthesis.html.j2",
            title=self.title,
            netlist=self.document["netlist"],
            trilut=self.document["trilut"],
            cards=section_cards(self.section),
            tables=[*self.tables, self._tools],
            figures=section_figures(self.section),
        )

    @property
    def _tools(self) -> Table:
        seconds = {f"step {step}": f"{time} s" for step, time in self.section["seconds"].items()}
        facts = {**self.section["tools"], **self.document["environment"], **seconds}
        return two_columns("Tools and machine", facts)


def make_section(synthesis: "Synthesis", choice: "PipelineChoice | None" = None) -> dict[str, Any]:
    """Put together what is known of a design on a target, as values that JSON can hold.

    It is what :func:`result_document` says and, beside it, ``latency_cycles``,
    ``conventions`` (what is counted, and how), ``figures`` that follow from the rest, and ``path``,
    the critical path by layers and neurons.

    Parameters
    ----------
    choice : PipelineChoice, optional
        How the pipeline was chosen, if it was.
    """
    design, result = synthesis.design, synthesis.result
    neurons = {f"layer_{plan.level}": len(plan.gates) for plan in design.plans}
    path = result.timing.critical_path if result.timing else ()
    steps = name_path(path, design.classifier) if design.classifier else ()
    section = {
        **result_document(result),
        "design_sha256": synthesis.sha256,
        "pipeline": design.options.pipeline,
        "latency_cycles": design.interface.latency,
        "vector_cycles": design.interface.num_beats,
        "neurons": design.netlist.num_gates,
        "neurons_built": neurons,
        "path": [plain(step) for step in steps],
    }
    section["conventions"] = _conventions(design, result)
    section["figures"] = _figures(section)
    return section if choice is None else section | {"pipeline_choice": plain(choice)}


def result_document(result: SynthesisResult) -> dict[str, Any]:
    """Return what the tools found as JSON can hold it; ``fmax_mhz`` is None without timing.

    Keys may be added; one that changes its meaning raises ``schema``.
    """
    timing = result.timing
    return {
        "schema": _SCHEMA,
        "target": result.target,
        "title": result.title,
        "device": result.device,
        **asdict(result.cells),
        "blocks": {name: asdict(cells) for name, cells in result.blocks.items()},
        "blocks_method": "each block mapped on its own",
        "utilization": {
            kind: {"used": use.used, "available": use.available, "share": round(use.share, 4)}
            for kind, use in result.utilization.items()
        },
        "fmax_mhz": None if timing is None else round(timing.fmax_mhz, 2),
        "period_ns": None if timing is None else round(timing.period_ns, 3),
        "goal_mhz": None if timing is None else timing.goal_mhz,
        "timing_method": "none" if timing is None else timing.method,
        "fmax_seeds_mhz": {} if timing is None else _rounded(timing.seeds),
        "fmax_spread_mhz": None if timing is None else _rounded(timing.spread_mhz),
        "critical_path": [] if timing is None else [asdict(hop) for hop in timing.critical_path],
        "levels": result.levels,
        "levels_method": "cells on the longest path, not timing",
        "asic": None if result.asic is None else _asic_dict(result.asic),
        "incomplete": result.incomplete,
        "port_registers": result.port_registers,
        "tools": dict(result.tools),
        "seconds": {step: round(seconds, 1) for step, seconds in result.seconds.items()},
    }


def _rounded(values: Mapping[Any, float]) -> dict[str, float]:
    return {str(name): round(value, 2) for name, value in values.items()}


def _asic_dict(asic: Asic) -> dict[str, Any]:
    document = asdict(asic)
    if asic.energy is not None:
        document["energy"] |= {"vector_pj": asic.energy.vector_pj, "is_estimate": True}
    return document


def make_synthesis_report(
    synthesis: "Synthesis", choice: "PipelineChoice | None" = None
) -> SynthesisReport:
    """Put a synthesis and what is known of its netlist together."""
    netlist = synthesis.design.netlist
    return SynthesisReport(
        plain(
            {
                "format": FORMAT,
                "version": _VERSION,
                "trilut": version("trilut"),
                "netlist": circuit_facts(netlist),
                "accuracy": _accuracy(netlist),
                "synthesis": make_section(synthesis, choice),
                "environment": machine_facts("amaranth"),
            }
        )
    )


def write_synthesis_report(
    report: SynthesisReport, directory: Path, *, name: str = "synthesis"
) -> None:
    """Write a report as ``NAME.json``, ``NAME.md`` and ``NAME.html``.

    The first is written last: where it is, the others are too. Without the packages of
    :data:`trilut.report.page.PAGE_MODULES` there is no page.
    """
    make_directory(directory)
    document = json.dumps(report.document, indent=2, allow_nan=False) + "\n"
    write_page(directory / f"{name}.html", report.page)
    write_atomically(directory / f"{name}.md", report.markdown())
    write_atomically(directory / f"{name}.json", document)


def read_synthesis_report(path: Path) -> SynthesisReport:
    """Read ``synthesis.json``.

    Raises
    ------
    FormatError
        If the file cannot be read, is no synthesis report, or is damaged.
    """
    # A report is small and its schema says all. A netlist is checked by hand (circuit.format): the
    # core has no jsonschema, which would take ten times as long as all the rest of its reading.
    import jsonschema

    document = parse_json(read_bytes(path), f"Synthesis report {str(path)!r}")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(f"{str(path)!r} is not a synthesis report, as `trilut synth` writes it")
    if document.get("version") != _VERSION:
        raise FormatError(
            f"Synthesis report {str(path)!r} has version {document.get('version')!r}, "
            f"expected {_VERSION}"
        )
    validator = jsonschema.Draft202012Validator(_schema())
    for fault in validator.iter_errors(document):
        raise FormatError(
            f"Synthesis report {str(path)!r} is damaged at {fault.json_path}: {fault.message[:200]}"
        )
    # Reports from before there were loaders do not say it.
    document["synthesis"].setdefault("vector_cycles", 1)
    return SynthesisReport(document)


@cache
def _schema() -> dict[str, Any]:
    text = files("trilut.report").joinpath("synthesis.schema.json").read_text()
    schema: dict[str, Any] = json.loads(text)
    return schema


def _accuracy(netlist: Circuit) -> dict[str, Any] | None:
    """Return what the netlist says of its test accuracy and data."""
    hardened: Any = netlist.provenance.get("accuracy")
    data: Any = netlist.provenance.get("data")
    try:
        return {"dataset": str(data["name"]), "test": float(hardened["hardened"]["test"])}
    except (TypeError, KeyError, ValueError):
        return None


def _accuracy_row(accuracy: Mapping[str, Any] | None) -> dict[str, str]:
    if accuracy is None:
        return {}
    share, dataset = percent(accuracy["test"]), accuracy["dataset"]
    return {"test accuracy": f"{share} on {dataset}, as the netlist says"}


def _conventions(design: "Design", result: SynthesisResult) -> dict[str, str]:
    """Say what is counted; two results compare only where these are equal."""
    interface = design.interface
    return {
        "technology": "FPGA" if result.asic is None else f"ASIC, {result.asic.library}",
        "unit": _unit(result),
        "encoder": "in" if interface.input_kind is InputKind.FEATURES else "out",
        "head": "in" if design.netlist.head is not None else "out",
        **({} if interface.axi is None else {"loader": "in"}),
        "counted": result.counted,
        "timing": "none" if result.timing is None else result.timing.method,
    }


def _unit(result: SynthesisResult) -> str:
    if result.asic is not None:
        return result.asic.area_unit
    return "LUT6" if result.cells.lut6 and not result.cells.lut4 else "LUT4"


def _figures(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return what follows from a section: one figure of area, times, and their products."""
    area = section[_area_key(section)]
    layers = [cells for name, cells in section["blocks"].items() if name.startswith("layer_")]
    in_layers = sum(cells[_area_key(section)] for cells in layers)
    neurons, frequency = section["neurons"], section["fmax_mhz"]
    latency = None if frequency is None else 1000 * section["latency_cycles"] / frequency
    return {
        "area": area,
        "area_per_neuron": _ratio(area, neurons),
        "area_per_neuron_in_layers": _ratio(in_layers, neurons) if layers else None,
        "latency_ns": None if latency is None else round(latency, 2),
        "samples_per_second": None
        if frequency is None
        else round(1e6 * frequency / section["vector_cycles"]),
        "area_delay": None if latency is None else round(area * latency, 1),
        "energy_pj": _energy(section),
        "energy_with_wires_pj": _energy(section, wires=True),
    }


def _energy(section: Mapping[str, Any], *, wires: bool = False) -> float | None:
    """Return the energy of one vector, leakage over its cycles included where it is known.

    With wires there is none where the library has no model of them.
    """
    asic = section["asic"]
    if asic is None or asic["energy"] is None:
        return None
    added = asic["energy"]["wires_pj"] if wires else 0.0
    if added is None:
        return None
    nanoseconds = (section["period_ns"] or 0) * section["vector_cycles"]
    leakage = (asic["leakage_nw"] or 0) * nanoseconds * 1e-6
    return round(asic["energy"]["vector_pj"] + added * section["vector_cycles"] + leakage, 4)


def _area_key(section: Mapping[str, Any]) -> str:
    if section["asic"] is not None:
        return "area"
    return "lut6_equivalents" if _is_lut6(section) else "lut4_equivalents"


def _is_lut6(section: Mapping[str, Any]) -> bool:
    return bool(section["lut6"]) and not section["lut4"]


def _ratio(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def section_rows(section: Mapping[str, Any]) -> dict[str, str]:
    """Describe area and timing in a few lines."""
    conventions, unit = section["conventions"], unit_text(section)
    rows = {"part": _part_text(section), **_area_rows(section), "FF": str(section["ff"])}
    if use := _utilization_text(section["utilization"]):
        rows["of the part"] = use
    rows |= _timing_rows(section)
    figures = section["figures"]
    if figures["area_per_neuron"] is not None:
        rows["area per neuron"] = f"{figures['area_per_neuron']:.2f} {unit} all included"
    if figures["area_per_neuron_in_layers"] is not None:
        rows["area per neuron"] += f", {figures['area_per_neuron_in_layers']:.2f} in the layers"
    if figures["area_delay"] is not None:
        rows["area × latency"] = f"{figures['area_delay']:,.0f} {unit}·ns"
    rows["energy"] = _energy_text(section)
    if section["path"]:
        rows["critical path"] = path_text([_step(values) for values in section["path"]])
    rows["conventions"] = "; ".join(f"{name} {value}" for name, value in conventions.items())
    return rows


def _step(values: Mapping[str, Any]) -> PathStep:
    return PathStep(values["block"], tuple(values["neurons"]), values["signal"])


def _part_text(section: Mapping[str, Any]) -> str:
    return f"{section['device']}" + (f" ({section['title']})" if section["title"] else "")


def unit_text(section: Mapping[str, Any]) -> str:
    """Return what the area of a report is counted in: of look-up tables, their equivalents."""
    unit: str = section["conventions"]["unit"]
    return f"{unit} eq." if unit.startswith("LUT") else unit


def _area_rows(section: Mapping[str, Any]) -> dict[str, str]:
    included = _included_text(section["conventions"])
    if (asic := section["asic"]) is not None:
        invented = ", values invented for comparison only" if asic["is_invented"] else ""
        return {
            "area": f"{section['area']:,.1f} {asic['area_unit']} ({included})",
            "gate equivalents": f"{section['gate_equivalents']:,.0f} NAND2",
            "cells": f"{section['gate']} combinational, {section['ff']} flip-flops",
            "library": f"{asic['library']}{invented}",
        }
    unit = "lut6" if _is_lut6(section) else "lut4"
    rows = {unit.upper(): f"{section[unit]} ({included})"}
    if section["carry"] or section["mux"]:
        extra = ", ".join(f"{section[kind]} {kind}" for kind in ("carry", "mux") if section[kind])
        equivalents = section[f"{unit}_equivalents"]
        rows["other logic"] = f"{extra} ({equivalents} {unit.upper()} eq. in all)"
    if LOGIC_CELL in section["utilization"]:
        used = section["utilization"][LOGIC_CELL]["used"]
        ports = section["port_registers"]
        rows["logic cells"] = f"{used} placed, {ports} registers at the ports included"
    return rows | {_KINDS[kind]: str(section[kind]) for kind in ("bram", "dsp") if section[kind]}


def _included_text(conventions: Mapping[str, str]) -> str:
    parts = [("encoder", "encoder"), ("GroupSum and argmax", "head")]
    included = [name for name, key in parts if conventions[key] == "in"]
    excluded = [name for name, key in parts if conventions[key] == "out"]
    if "loader" in conventions:
        included.insert(0, "loader")
    texts = [f"{' , '.join(included).replace(' ,', ',')} included"] if included else []
    return "; ".join([*texts, *(f"no {name}" for name in excluded)])


def _utilization_text(utilization: Mapping[str, Mapping[str, Any]]) -> str:
    names = {**_KINDS, LOGIC_CELL: "logic cells"}
    return ", ".join(
        f"{names.get(kind, kind)} {use['used']}/{use['available']} ({percent(use['share'])})"
        for kind, use in utilization.items()
        if use["used"]
    )


def _timing_rows(section: Mapping[str, Any]) -> dict[str, str]:
    cycles, frequency = section["latency_cycles"], section["fmax_mhz"]
    rows = {}
    if section["levels"] is not None:
        rows["logic levels"] = f"{section['levels']} cells between registers (not timing)"
    if frequency is None:
        area_only = section["asic"] is not None and not section["asic"].get("has_delays", True)
        untimed = (
            "area only, the library has no delays"
            if area_only
            else "mapped only, not placed and routed"
        )
        reason = section["incomplete"] or untimed
        return {**rows, "Fmax": f"not known: {reason}", "latency": f"{cycles} cycles"}
    figures = section["figures"]
    return {
        **rows,
        "Fmax": f"{frequency:.1f} MHz, {_method_text(section['timing_method'])}"
        + _seeds_text(section),
        "latency": f"{cycles} cycles, {figures['latency_ns']:.1f} ns at Fmax",
        "throughput": _throughput_text(figures["samples_per_second"], section["vector_cycles"]),
    }


def _throughput_text(samples: float, cycles: int) -> str:
    if cycles == 1:
        return f"{samples / 1e6:.1f} M samples/s, one per cycle"
    return f"{samples / 1e3:,.1f} k samples/s, one per {cycles} cycles, a beat in each"


def _method_text(method: str) -> str:
    return "placed and routed" if method == "post-route" else method


def _seeds_text(section: Mapping[str, Any]) -> str:
    if len(section["fmax_seeds_mhz"]) < 2:
        return ""
    spread = section["fmax_spread_mhz"]
    values = " / ".join(f"{spread[name]:.1f}" for name in ("min", "median", "max"))
    return f"; {len(section['fmax_seeds_mhz'])} seeds min / median / max {values}"


def _energy_text(section: Mapping[str, Any]) -> str:
    if section["asic"] is None:
        return "not estimated: the open tools have no power model for this part"
    if section["figures"]["energy_pj"] is None:
        return "not estimated"
    energy, figures = section["asic"]["energy"], section["figures"]
    # Reports from before there were wires do not say it.
    wired = figures.get("energy_with_wires_pj")
    with_wires = "" if wired is None else f", {wired:.3g} pJ with them"
    return (
        f"{figures['energy_pj']:.3g} pJ per sample without wires{with_wires}; estimated without "
        f"clock tree from {energy['vectors']} vectors ({energy['stimulus']})"
    )


def section_tables(section: Mapping[str, Any]) -> list[Table]:
    """Return the tables beside the summary: blocks, and the critical path."""
    tables = [_block_table(section)] if section["blocks"] else []
    if section["critical_path"]:
        tables.append(_path_table(section))
    if section["asic"] is not None:
        tables.append(_cell_table(section["asic"]))
    return tables


def _block_table(section: Mapping[str, Any]) -> Table:
    blocks: Mapping[str, Mapping[str, Any]] = section["blocks"]
    whole = {kind: section[kind] for kind in _KINDS}
    kinds = [kind for kind in _KINDS if whole[kind] or any(b.get(kind) for b in blocks.values())]
    key = _area_key(section)
    total = sum(cells[key] for cells in blocks.values())
    rows = [
        (
            name,
            *(_count(cells.get(kind, 0)) for kind in kinds),
            percent(cells[key] / total) if total else "–",
            _per_neuron(cells[key], section["neurons_built"].get(name)),
        )
        for name, cells in blocks.items()
    ]
    rows.append(("whole, flattened", *(_count(whole[kind]) for kind in kinds), "–", "–"))
    header = ("block", *(_KINDS[kind] for kind in kinds), "share", "per neuron")
    title = f"Blocks on {section['target']}"
    return Table(title, header, tuple(rows), (_BLOCKS_NOTE,))


def _per_neuron(area: float, neurons: int | None) -> str:
    return f"{area / neurons:.2f}" if neurons else "–"


def _count(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _path_table(section: Mapping[str, Any]) -> Table:
    """Return the delays of the critical path, the hops of a block with its delays added up."""
    rows: list[list[Any]] = []
    for hop in section["critical_path"]:
        if not rows or rows[-1][0] != hop["block"]:
            rows.append([hop["block"], 0, 0.0, 0.0])
        rows[-1][1] += hop["kind"] == "logic"
        rows[-1][3 if hop["kind"] == "routing" else 2] += hop["delay_ns"]
    total = sum(hop["delay_ns"] for hop in section["critical_path"])
    cells = [(row[0], str(row[1]), f"{row[2]:.2f}", f"{row[3]:.2f}") for row in rows]
    note = (
        f"{total:.2f} ns in all. A cell goes by the nearest signal that mapping has left, so the "
        "blocks are those of names, not of function; the summary names the neurons."
    )
    return Table(
        "Critical path", ("block", "cells passed", "logic ns", "routing ns"), tuple(cells), (note,)
    )


def _cell_table(asic: Mapping[str, Any]) -> Table:
    counts, areas = asic["cell_counts"], asic["cell_areas"]
    rows = [
        (name, str(counts[name]), f"{areas[name]:,.1f}")
        for name in sorted(counts, key=lambda name: -areas[name])
    ]
    return Table(f"Cells of {asic['library']}", ("cell", "number", asic["area_unit"]), tuple(rows))


def section_cards(section: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Return the figures that a reader looks for first."""
    figures = section["figures"]
    area = f"{figures['area']:,.0f}" if figures["area"] else "0"
    cards = [(unit_text(section), area), ("FF", f"{section['ff']:,}")]
    if section["fmax_mhz"] is not None:
        cards += [
            ("MHz", f"{section['fmax_mhz']:.1f}"),
            ("ns latency", f"{figures['latency_ns']:.1f}"),
            ("M samples/s", f"{figures['samples_per_second'] / 1e6:.1f}"),
        ]
    return [*cards, ("cycles", str(section["latency_cycles"]))]

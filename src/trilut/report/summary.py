"""Results as rows of text, for the terminal and the report."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from trilut.circuit.format import digest
from trilut.circuit.formula import gate_formulas
from trilut.circuit.gates import fourier_spectrum, gate_name, gate_table, polynomial, table_text
from trilut.circuit.kinds import NO_NET, Kind
from trilut.circuit.netlist import Netlist
from trilut.circuit.sequential import Circuit, SequentialNetlist
from trilut.circuit.shapes import inputs_text, shapes_of
from trilut.measure.evaluation import Accuracy, Evaluation, MissingPoint
from trilut.text import cut

__all__ = [
    "accuracy_document",
    "accuracy_rows",
    "against_rows",
    "circuit_facts",
    "control_rows",
    "dataset_rows",
    "encoding_text",
    "evaluation_rows",
    "gap_text",
    "gate_facts",
    "missing_rows",
    "netlist_facts",
    "netlist_rows",
    "percent",
    "plain",
]

# Of each name where several stand in a cell.
_NAME_CHARACTERS = 100

# Of shapes of gates that stand in a line.
_SHAPES = 6


def percent(fraction: float) -> str:
    """Write a fraction of one as a percentage."""
    return f"{100 * fraction:.2f} %"


def plain(value: Any) -> Any:
    """Return a value as what JSON can hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    return value


def dataset_rows(facts: Mapping[str, Any]) -> dict[str, str]:
    """Describe a data set from its facts."""
    lowest, highest = facts["range"]
    rows = {
        "features": _listing(facts["features"]),
        "classes": _listing(facts["classes"]),
        "samples": ", ".join(f"{count} {split}" for split, count in facts["samples"].items()),
        "largest class": percent(facts["largest_class"]),
        "values": f"{lowest:g} … {highest:g}, {facts['type']}",
        "missing values": percent(facts["missing"]),
    }
    if facts["bayes_rate"] is not None:
        rows["Bayes rate"] = f"{percent(facts['bayes_rate'])} (the best accuracy possible)"
    return {**rows, "notes": "; ".join(facts["notes"])} if facts["notes"] else rows


def encoding_text(measure: Any) -> str:
    """Describe what an encoder leaves of a data set."""
    return (
        f"ceiling {percent(measure.ceiling)}, cell vote {percent(measure.cell_vote)} "
        f"({measure.trits} trits, which tell as much as {measure.bits} bits)"
    )


def _listing(names: list[str]) -> str:
    shown = ", ".join(cut(name, _NAME_CHARACTERS) for name in names[:10])
    return f"{len(names)}: {shown}{', …' if len(names) > 10 else ''}"


def evaluation_rows(evaluation: Evaluation) -> dict[str, str]:
    """Describe how good a circuit is."""
    return {
        "hardened accuracy": percent(evaluation.accuracy),
        "encoding ceiling": percent(evaluation.ceiling),
        "UNKNOWN outputs": percent(evaluation.unknown),
        "abstained samples": percent(evaluation.abstained)
        + _answered_text(evaluation.accuracy_answered),
        **({} if evaluation.certain is None else {"certain answers": percent(evaluation.certain)}),
        "Acc@90 / Acc@50": f"{percent(evaluation.accuracy_at_90)} / "
        f"{percent(evaluation.accuracy_at_50)}",
        "accuracy–coverage area": percent(evaluation.coverage_area),
        "mean margin": _margin_text(evaluation.margin),
        "class accuracy": _class_text(evaluation.class_accuracy),
        **_confusion_rows(evaluation),
        "samples": str(evaluation.samples),
    }


def _answered_text(accuracy: float | None) -> str:
    return "" if accuracy is None else f", {percent(accuracy)} of the others right"


def _margin_text(margin: Mapping[str, float | None]) -> str:
    texts = [
        f"{name} {margin[name]:.1f}" for name in ("right", "wrong") if margin[name] is not None
    ]
    ranking = margin["ranking"]
    return ", ".join(texts) + ("" if ranking is None else f"; right above wrong {percent(ranking)}")


def _class_text(accuracies: Mapping[str, float | None]) -> str:
    """List the classes, the worst first, as many as fit on a line or two."""
    known = {name: accuracy for name, accuracy in accuracies.items() if accuracy is not None}
    worst = sorted(known, key=lambda name: known[name])[:5]
    more = ", …" if len(known) > len(worst) else ""
    return ", ".join(f"{name} {percent(known[name])}" for name in worst) + more


def _confusion_rows(evaluation: Evaluation) -> dict[str, str]:
    counts = np.array(evaluation.confusion)
    np.fill_diagonal(counts, 0)
    most = np.argsort(-counts, axis=None, kind="stable")[:3]
    names = list(evaluation.class_accuracy)
    texts = [
        f"{names[label]} as {names[chosen]} {counts[label, chosen]}×"
        for label, chosen in zip(*np.unravel_index(most, counts.shape), strict=True)
        if counts[label, chosen]
    ]
    return {"most confused": ", ".join(texts)} if texts else {}


def missing_rows(points: Sequence[MissingPoint]) -> dict[str, str]:
    """Describe what a circuit does when features are missing."""
    return {
        f"{100 * point.dropped:g} % missing": f"{percent(point.accuracy)}, "
        f"abstains on {percent(point.abstained)}"
        + _answered_text(point.accuracy_answered)
        + ("" if point.certain is None else f"; {percent(point.certain)} certain")
        for point in points
    }


def against_rows(points: Sequence[MissingPoint], others: Sequence[MissingPoint]) -> dict[str, str]:
    """Describe what two circuits do when the same features are missing."""
    return {
        f"{100 * point.dropped:g} % missing": f"{percent(point.accuracy)} against "
        f"{percent(other.accuracy)} ({100 * (point.accuracy - other.accuracy):+.2f} pp)"
        for point, other in zip(points, others, strict=True)
    }


def control_rows(control: Evaluation) -> dict[str, str]:
    """Describe the same wiring with random gates."""
    return {
        "untrained control": f"{percent(control.accuracy)}, "
        f"UNKNOWN outputs {percent(control.unknown)}"
    }


def accuracy_document(accuracy: Accuracy) -> dict[str, Any]:
    """Return what is known of a circuit's accuracy as JSON can hold it."""
    document = {
        "validation": accuracy.validation,
        "validation_missing": accuracy.validation_missing,
        "hardened": accuracy.hardened,
        "soft": accuracy.soft,
        "hardening_error": accuracy.hardening_error,
        "cell_vote": accuracy.cell_vote,
        "evaluation": plain(accuracy.evaluation),
    }
    return document if accuracy.layers is None else document | {"layers": list(accuracy.layers)}


def accuracy_rows(accuracy: Mapping[str, Any]) -> dict[str, str]:
    """Describe how good a trained circuit is from its :func:`accuracy_document`."""
    soft = {}
    # A netlist of unknown origin does not say.
    if accuracy["soft"] is not None:
        soft["soft accuracy"] = percent(accuracy["soft"])
        gap = f"{100 * (accuracy['soft'] - accuracy['hardened']):+.2f} pp"
        soft["hardening gap"] = gap_text(accuracy["layers"]) if "layers" in accuracy else gap
    # Only recipes with a soft forward have one, and reports since it was introduced.
    if accuracy.get("hardening_error") is not None:
        error = f"{accuracy['hardening_error']:.3f}"
        soft["hardening error"] = f"{error} (distance of a soft output from the circuit's, 0…2)"
    # Where every sample has a cell of its own, a vote per cell says nothing.
    if accuracy["evaluation"]["ceiling"] < 1:
        vote = percent(accuracy["cell_vote"])
        soft["cell vote"] = f"{vote} (majority per encoded cell of the training set)"
    rows = evaluation_rows(Evaluation(**accuracy["evaluation"]))
    first = "hardened accuracy"
    return {**_validation_rows(accuracy), first: rows.pop(first), **soft, **rows}


def _validation_rows(accuracy: Mapping[str, Any]) -> dict[str, str]:
    whole, chosen_by = percent(accuracy["validation"]), "(hardened; what to choose settings by)"
    # Reports that are older do not have it.
    if (missing := accuracy.get("validation_missing")) is None:
        return {"validation accuracy": f"{whole} {chosen_by}"}
    return {
        "validation accuracy": f"{whole} (hardened)",
        "with missing features": f"{percent(missing)} {chosen_by}",
    }


def gap_text(layers: Sequence[float]) -> str:
    """Describe the hardening gap from the accuracies with the first 0, 1, … layers hardened."""
    lost = " ".join(f"{100 * (before - after):+.2f}" for before, after in pairwise(layers))
    return f"{100 * (layers[0] - layers[-1]):+.2f} pp (layer by layer {lost})"


def circuit_facts(circuit: Circuit) -> dict[str, Any]:
    """Return what can be said of a circuit with or without state."""
    if not isinstance(circuit, SequentialNetlist):
        return netlist_facts(circuit)
    return {
        "name": circuit.name,
        "sha256": digest(circuit),
        "inputs": circuit.num_inputs,
        "gates": circuit.num_gates,
        "layers": circuit.depth,
        "outputs": circuit.num_outputs,
        "states": circuit.num_states,
        "flip_flops": circuit.num_flip_flops,
    }


def netlist_facts(netlist: Netlist) -> dict[str, Any]:
    """Return what can be said of a netlist without running it."""
    tables, counts = np.unique(netlist.table, axis=0, return_counts=True)
    used = np.zeros(netlist.num_nets, dtype=bool)
    used[netlist.outputs] = True
    used[netlist.sources[netlist.sources != NO_NET]] = True
    facts: dict[str, Any] = {
        "name": netlist.name,
        "sha256": digest(netlist),
        **({"valence": netlist.valence} if netlist.is_two_input else {"nodes": _nodes(netlist)}),
        "inputs": netlist.num_inputs,
        "inputs_text": inputs_text(netlist.input_kinds),
        "gates": netlist.num_gates,
        "layers": netlist.depth,
        "outputs": len(netlist.outputs),
        "different_gates": len(tables),
        "most_common_gate": int(counts.max()) if len(counts) else 0,
        "nets_without_reader": int(np.count_nonzero(~used)),
    }
    if netlist.encoder is not None:
        facts["features"] = [feature.name for feature in netlist.encoder.features]
    if netlist.head is not None:
        facts["classes"] = list(netlist.head.classes)
        facts["outputs_per_class"] = list(netlist.head.group_sizes)
    return facts


def netlist_rows(facts: Mapping[str, Any]) -> dict[str, str]:
    """Describe a netlist from its facts."""
    rows = {
        "gates": f"{facts['gates']:,} in {facts['layers']} layers, {_gates_text(facts)}",
        "inputs": facts["inputs_text"],
        "outputs": f"{facts['outputs']:,}",
        "nets without reader": f"{facts['nets_without_reader']:,}",
    }
    if "features" in facts:
        rows["features"] = _listing(facts["features"])
    if "classes" in facts:
        rows["classes"] = _listing(facts["classes"])
        sizes = facts["outputs_per_class"]
        rows["outputs a class"] = " … ".join(map(str, sorted({min(sizes), max(sizes)})))
    return {**rows, "sha256": facts["sha256"][:16]}


def _nodes(netlist: Netlist) -> dict[str, int]:
    """Return how many gates there are of each shape, such as ``ttb → b``, the most first."""
    letters = {Kind.BIT: "b", Kind.TRIT: "t", Kind.SCORE: "s"}
    counts: Counter[str] = Counter()
    for shape in shapes_of(netlist):
        own = netlist.kinds[netlist.num_inputs + shape.gates]
        read = "".join(letters[kind] for kind in shape.kinds)
        for kind in Kind:
            counts[f"{read} → {letters[kind]}"] += int((own == kind).sum())
    return {shape: count for shape, count in counts.most_common() if count}


def _gates_text(facts: Mapping[str, Any]) -> str:
    if "valence" in facts:
        return f"valence {facts['valence']}"
    shapes = [f"{count:,} {shape}" for shape, count in facts["nodes"].items()]
    return ", ".join(shapes[:_SHAPES]) + (", …" if len(shapes) > _SHAPES else "")


def gate_facts(gate: int) -> dict[str, Any]:
    """Return what can be said of a ternary gate."""
    table = gate_table(gate).astype(int)
    names = {"a_plus": "a[1]", "a_minus": "a[0]", "b_plus": "b[1]", "b_minus": "b[0]"}
    plus, minus = gate_formulas(table.tolist())
    return {
        "id": gate,
        "name": gate_name(gate),
        "table": table_text(table),
        "rows": [table_text(row) for row in table.reshape(3, 3)],
        "polynomial": [round(float(value), 6) for value in polynomial(table)],
        "fourier": [[round(float(value), 6) for value in row] for row in fourier_spectrum(table)],
        "plus": plus.text(names),
        "minus": minus.text(names),
    }

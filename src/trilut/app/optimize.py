"""Smaller circuits from netlist files, and what they lose."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from trilut.circuit.format import load, save
from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.measure.evaluation import evaluate_split
from trilut.measure.matching import features_for, netlist_dataset, samples_for
from trilut.measure.narrow import drop_features, narrow_features, search_feature_bits

__all__ = ["optimize_file"]


def optimize_file(
    path: Path,
    output: Path,
    *,
    lossy: bool = False,
    feature_bits: int | Literal["auto"] | None = None,
    unread: bool = True,
) -> dict[str, Any]:
    """Optimise a netlist file into another one, and return what changed.

    The options ``lossy`` and ``feature_bits`` change what the circuit computes. For them the
    netlist must say what it was trained on, and the test accuracy before and after is returned too.
    The new netlist's provenance then has the new accuracy, instead of those of the training, and
    ``changes``, a list of what was done.

    Parameters
    ----------
    lossy : bool
        Treat rows that no training sample causes as free.
    feature_bits : int or "auto", optional
        Bits of a feature; "auto" takes the fewest that lose at most 0.1 pp on the validation set.
    unread : bool
        Whether features that nothing looks at stay.
    """
    netlist = load(path)
    changes_meaning = lossy or feature_bits is not None
    dataset = netlist_dataset(netlist) if changes_meaning else None
    smaller = netlist
    if feature_bits == "auto" and dataset is not None:
        smaller = search_feature_bits(smaller, samples_for(netlist, dataset, part="validation"))
    elif isinstance(feature_bits, int):
        smaller = narrow_features(smaller, feature_bits)
    trits = None
    if lossy and dataset is not None:
        samples = features_for(smaller, dataset, part="train")
        assert smaller.encoder is not None
        trits = smaller.encoder.encode(samples)
    smaller = optimize(smaller, training_trits=trits).netlist
    if not unread:
        smaller = drop_features(smaller)
    facts: dict[str, Any] = {
        "gates_before": netlist.num_gates,
        "gates_after": smaller.num_gates,
        "layers_before": netlist.depth,
        "layers_after": smaller.depth,
    }
    if dataset is not None:
        for when, circuit in (("before", netlist), ("after", smaller)):
            test = samples_for(circuit, dataset)
            facts[f"accuracy_{when}"] = evaluate_split(circuit, test).accuracy
        change = {"lossy": lossy, "feature_bits": _feature_bits(smaller) if feature_bits else None}
        smaller = _with_change(smaller, change, facts["accuracy_after"])
    if smaller.encoder is not None:
        facts["features"] = len(smaller.encoder.features)
        facts["feature_bits"] = _feature_bits(smaller)
    save(smaller, output)
    return facts


def _feature_bits(netlist: Netlist) -> int | None:
    if netlist.encoder is None:
        return None
    return max(feature.bits for feature in netlist.encoder.features)


def _with_change(netlist: Netlist, change: Mapping[str, Any], accuracy: float) -> Netlist:
    """Say in a netlist how it came to mean something else, and what that has on the test set."""
    earlier = netlist.provenance.get("changes")
    changes = [*earlier, change] if isinstance(earlier, list) else [change]
    known = {"changes": changes, "accuracy": {"hardened": {"test": accuracy}}}
    return dataclasses.replace(netlist, provenance={**netlist.provenance, **known})

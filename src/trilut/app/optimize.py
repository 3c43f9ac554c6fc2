"""Smaller circuits from netlist files, and what they lose."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trilut.circuit.format import load, save
from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.circuit.tolerance import Tolerance, with_tolerance
from trilut.data import Dataset
from trilut.measure.evaluation import evaluate_split
from trilut.measure.matching import features_for, netlist_dataset, samples_for
from trilut.measure.narrow import drop_features, narrow_features, search_feature_bits
from trilut.training.names import OutOfRange

__all__ = ["Optimization", "optimize_file"]


@dataclass(frozen=True, slots=True)
class Optimization:
    """A netlist before and after.

    Parameters
    ----------
    before, after : Netlist
        The circuits.
    accuracy : tuple of float, optional
        Their accuracies on the test set, if they may differ.
    """

    before: Netlist
    after: Netlist
    accuracy: tuple[float, float] | None = None

    @property
    def facts(self) -> dict[str, object]:
        """What changed, by name."""
        facts: dict[str, object] = {
            "gates_before": self.before.num_gates,
            "gates_after": self.after.num_gates,
            "layers_before": self.before.depth,
            "layers_after": self.after.depth,
        }
        if self.accuracy is not None:
            facts["accuracy_before"], facts["accuracy_after"] = self.accuracy
        if self.after.encoder is not None:
            facts["features"] = len(self.after.encoder.features)
            facts["feature_bits"] = _feature_bits(self.after)
        return facts


def optimize_file(
    path: str | Path,
    output: str | Path,
    *,
    lossy: bool = False,
    feature_bits: int | Literal["auto"] | None = None,
    tolerance: Tolerance | None = None,
    out_of_range: OutOfRange | None = None,
    unread: bool = True,
    cover: int | None = None,
) -> Optimization:
    """Optimise a netlist file into another one, and return what changed.

    The options ``lossy``, ``feature_bits`` and ``tolerance`` change what the circuit computes. For
    them the netlist must say what it was trained on, and the test accuracy before and after is
    returned too. The new netlist's provenance then has the new accuracy, instead of those of the
    training, and ``changes``, a list of what was done.

    Parameters
    ----------
    lossy : bool
        Treat rows that no training sample causes as free.
    feature_bits : int or "auto", optional
        Bits of a feature; "auto" takes the fewest that lose at most 0.1 pp on the validation set.
    tolerance : Tolerance, optional
        Move thresholds apart by it; see :mod:`trilut.circuit.tolerance`.
    out_of_range : str, optional
        What a value becomes that is outside of what training saw, as for
        :func:`trilut.training.encoding.fit_encoder`; by default what it was.
    unread : bool
        Whether features that nothing looks at stay.
    cover : int, optional
        Join gates to larger ones that read up to so many wires; see
        :func:`trilut.circuit.optimize.optimize`.
    """
    output = Path(output)
    path = Path(path)
    netlist = load(path)
    changes = (feature_bits, tolerance, out_of_range)
    changes_meaning = lossy or any(change is not None for change in changes)
    dataset = netlist_dataset(netlist) if changes_meaning else None
    smaller = netlist
    if feature_bits == "auto" and dataset is not None:
        smaller = search_feature_bits(smaller, samples_for(netlist, dataset, part="validation"))
    elif isinstance(feature_bits, int):
        smaller = narrow_features(smaller, feature_bits)
    if tolerance is not None:
        smaller = with_tolerance(smaller, tolerance)
    if out_of_range is not None and dataset is not None:
        smaller = _with_range(smaller, dataset, out_of_range)
    trits = None
    if lossy and dataset is not None:
        samples = features_for(smaller, dataset, part="train")
        assert smaller.encoder is not None
        trits = smaller.encoder.encode(samples)
    smaller = optimize(smaller, training_trits=trits, cover=cover).netlist
    if not unread:
        smaller = drop_features(smaller)
    accuracy = None
    if dataset is not None:
        before, after = (
            evaluate_split(circuit, samples_for(circuit, dataset)).accuracy
            for circuit in (netlist, smaller)
        )
        accuracy = before, after
        change = {
            "lossy": lossy,
            "feature_bits": _feature_bits(smaller) if feature_bits else None,
            **({} if tolerance is None else {"tolerance": str(tolerance)}),
            **({} if out_of_range is None else {"out_of_range": out_of_range}),
        }
        smaller = _with_change(smaller, change, after)
    save(smaller, output)
    return Optimization(netlist, smaller, accuracy)


def _with_range(netlist: Netlist, dataset: Dataset, out_of_range: OutOfRange) -> Netlist:
    samples = features_for(netlist, dataset, part="train")
    assert netlist.encoder is not None
    features = tuple(
        dataclasses.replace(feature, seen=None) for feature in netlist.encoder.features
    )
    encoder = dataclasses.replace(netlist.encoder, features=features)
    if out_of_range == "unknown":
        encoder = encoder.with_seen(samples)
    return dataclasses.replace(netlist, encoder=encoder)


def _feature_bits(netlist: Netlist) -> int | None:
    if netlist.encoder is None:
        return None
    return max(feature.bits for feature in netlist.encoder.features)


def _with_change(netlist: Netlist, change: Mapping[str, object], accuracy: float) -> Netlist:
    """Say in a netlist how it came to mean something else, and what that has on the test set."""
    earlier = netlist.provenance.get("changes")
    changes = [*earlier, change] if isinstance(earlier, list) else [change]
    known = {"changes": changes, "accuracy": {"hardened": {"test": accuracy}}}
    return dataclasses.replace(netlist, provenance={**netlist.provenance, **known})

"""Less to send: fewer bits for each feature at nearly the same accuracy, and fewer features."""

import dataclasses

import numpy as np

from trilut.circuit.encoder import Encoder, Feature
from trilut.circuit.kinds import NO_NET
from trilut.circuit.netlist import Netlist
from trilut.data import Split
from trilut.errors import NetlistError
from trilut.measure.evaluation import evaluate_split

__all__ = ["drop_features", "narrow_features", "search_feature_bits"]


def narrow_features(netlist: Netlist, bits: int) -> Netlist:
    """Return a netlist whose features have at most ``bits`` bits.

    A feature loses its lowest bits, and its thresholds move to the nearest integers that are left.
    Features that are narrow enough stay as they are.

    Raises
    ------
    NetlistError
        If the netlist has no encoder.
    """
    encoder = _encoder(netlist)
    shifts = np.array([max(0, feature.bits - bits) for feature in encoder.features])
    trit_shifts = shifts[encoder.feature]
    half = (1 << trit_shifts) >> 1
    narrowed = dataclasses.replace(
        encoder,
        features=tuple(map(_narrowed, encoder.features, shifts.tolist())),
        low=(encoder.low + half) >> trit_shifts,
        high=(encoder.high + half) >> trit_shifts,
    )
    return dataclasses.replace(netlist, encoder=narrowed)


def search_feature_bits(netlist: Netlist, split: Split, *, tolerance: float = 0.001) -> Netlist:
    """Return the netlist with the narrowest features that keep its accuracy on a split.

    Parameters
    ----------
    split : Split
        Samples to measure on; not the test set.
    tolerance : float
        Loss of accuracy that is accepted, as a fraction of one.
    """
    wanted = evaluate_split(netlist, split).accuracy - tolerance
    widest = max(feature.bits for feature in _encoder(netlist).features)
    for bits in range(1, widest):
        narrowed = narrow_features(netlist, bits)
        if evaluate_split(narrowed, split).accuracy >= wanted:
            return narrowed
    return netlist


def drop_features(netlist: Netlist) -> Netlist:
    """Return a netlist without the features that no gate and no output looks at.

    The others keep their names and their order, so samples are found by the names of their columns.

    Raises
    ------
    NetlistError
        If the netlist has no encoder.
    """
    encoder = _encoder(netlist)
    has_row = np.arange(netlist.table.shape[1]) < netlist.num_rows[:, None]
    varies = ((netlist.table != netlist.table[:, :1]) & has_row).any(axis=1)
    sources = netlist.sources[varies]
    read = np.zeros(netlist.num_nets, dtype=np.bool_)
    read[netlist.outputs] = read[sources[sources != NO_NET]] = True
    # A circuit has at least one input, even if all that it computes is constants.
    read[0] |= not read[: netlist.num_inputs].any()
    kept = np.flatnonzero(read[: netlist.num_inputs])
    features = np.unique(encoder.feature[kept])
    # Constants read the first input that is left.
    number = np.zeros(netlist.num_nets, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    number[netlist.num_inputs :] = len(kept) + np.arange(netlist.num_gates)
    smaller = dataclasses.replace(
        encoder,
        features=tuple(encoder.features[feature] for feature in features.tolist()),
        feature=np.searchsorted(features, encoder.feature[kept]),
        low=encoder.low[kept],
        high=encoder.high[kept],
        missing=encoder.missing[kept],
    )
    return dataclasses.replace(
        netlist,
        num_inputs=len(kept),
        sources=np.where(netlist.sources == NO_NET, NO_NET, number[netlist.sources]),
        outputs=number[netlist.outputs],
        kinds=np.append(netlist.kinds[kept], netlist.kinds[netlist.num_inputs :]),
        encoder=smaller,
    )


def _narrowed(feature: Feature, shift: int) -> Feature:
    # ⌊⌊y⌋ / 2ˢ⌋ = ⌊y / 2ˢ⌋, so scaling once gives the same integers as dropping bits.
    return dataclasses.replace(
        feature,
        bits=feature.bits - shift,
        scale=feature.scale / (1 << shift),
        offset=feature.offset / (1 << shift),
        seen=None if feature.seen is None else (feature.seen[0] >> shift, feature.seen[1] >> shift),
    )


def _encoder(netlist: Netlist) -> Encoder:
    if netlist.encoder is None:
        raise NetlistError(f"Netlist {netlist.name!r} has no encoder, so it has no features")
    return netlist.encoder

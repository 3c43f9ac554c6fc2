"""Information order: gates whose decisions stay when an UNKNOWN input turns out to be something.

UNKNOWN says less than FALSE and TRUE, and these two say nothing of each other: 0 ⊑ −1 and 0 ⊑ +1. A
gate is *information-monotone* if an input that says more never changes an output that was not
UNKNOWN. Such gates compose: by induction over the gates, every net of a circuit of them is UNKNOWN
or what it would be however the UNKNOWN inputs turned out. There are 197 of them among the 19,683
ternary gates; Kleene's connectives are, and so is the consensus of two trits; Łukasiewicz's
implication, TRUE for two UNKNOWN inputs, is not.
"""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.circuit.kinds import Kind
from trilut.circuit.netlist import Netlist
from trilut.circuit.reach import reachable_rows
from trilut.circuit.shapes import shapes_of
from trilut.errors import NetlistError

__all__ = [
    "check_monotone",
    "is_information_monotone",
    "is_monotone",
    "project",
    "with_least_claims",
]

# The rows of a table: corners know both inputs, an edge one, the centre none.
_EDGES = {1: (0, 2), 3: (0, 6), 5: (2, 8), 7: (6, 8)}
_CENTRE = 4


def project(table: ArrayLike) -> NDArray[np.int8]:
    """Return the information-monotone table with the same corners, for each table [..., row].

    An edge keeps its value only if it equals both corners beside it, and the centre only if it
    equals all four edges; what does not becomes UNKNOWN. A monotone table stays as it is.
    """
    projected = np.array(table, dtype=np.int8)
    for edge, corners in _EDGES.items():
        _keep_if_equal(projected, edge, corners)
    _keep_if_equal(projected, _CENTRE, tuple(_EDGES))
    return projected


def _keep_if_equal(table: NDArray[np.int8], row: int, others: tuple[int, ...]) -> None:
    equal = (table[..., list(others)] == table[..., [row]]).all(axis=-1)
    table[..., row] *= equal


def is_information_monotone(table: ArrayLike) -> NDArray[np.bool_]:
    """Say of each ternary table [..., row] whether its gate is information-monotone."""
    return np.equal(project(table), np.asarray(table)).all(axis=-1)


def check_monotone(netlist: Netlist) -> None:
    """Check that no value of a missing feature can change a net that is not UNKNOWN.

    It follows by induction if every gate is information-monotone on the rows of its table that can
    occur: of two such rows, one of which says more than the other, so do the values.

    Raises
    ------
    NetlistError
        If that does not follow.
    """
    if not np.any(netlist.kinds == Kind.TRIT):
        raise NetlistError(
            f"Netlist {netlist.name!r} has no UNKNOWN, only bits, so nothing in it can be certain"
        )
    if np.any(netlist.kinds == Kind.SCORE):
        raise NetlistError(
            f"Netlist {netlist.name!r} has scores, which are never UNKNOWN, so nothing in it can "
            "be certain"
        )
    if netlist.encoder is not None and netlist.encoder.missing.any():
        raise NetlistError(
            f"Netlist {netlist.name!r} takes missing features as FALSE and not as UNKNOWN, so "
            "nothing in it can be certain"
        )
    if netlist.is_two_input and is_information_monotone(netlist.table).all():
        return
    # The optimiser leaves nothing of tables on rows that cannot occur.
    rows = reachable_rows(netlist)
    is_wrong = np.zeros(netlist.num_gates, dtype=np.bool_)
    for shape in shapes_of(netlist):
        is_wrong[shape.gates] = ~_is_monotone_on(
            shape.row_values, netlist.table[shape.gates], rows[shape.gates]
        )
    wrong = np.flatnonzero(is_wrong)
    if len(wrong):
        raise NetlistError(
            f"Netlist {netlist.name!r} has {len(wrong)} gates of {netlist.num_gates} that are not "
            f"information-monotone, gate {wrong[0]} first, so nothing in it can be certain"
        )


def with_least_claims(netlist: Netlist) -> Netlist:
    """Return a monotone netlist whose gates claim as little as they can on rows that never occur.

    There a gate is UNKNOWN, or what it is if both inputs are UNKNOWN. Nothing that the netlist
    computes changes. But behind an encoder with wider bands of UNKNOWN, where such rows can occur,
    every net then still is UNKNOWN or what it is behind the encoder of the netlist.
    """
    if is_information_monotone(netlist.table).all():
        return netlist
    rows = reachable_rows(netlist)
    centre = netlist.table[:, [_CENTRE]] * rows[:, [_CENTRE]]
    return dataclasses.replace(netlist, table=np.where(rows, netlist.table, centre))


def is_monotone(netlist: Netlist) -> bool:
    """Say whether a netlist is one that :func:`check_monotone` lets pass."""
    try:
        check_monotone(netlist)
    except NetlistError:
        return False
    return True


def _is_monotone_on(
    values: NDArray[np.int8], table: NDArray[np.int8], rows: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Say of each table [gate, row] whether it is monotone on some of its rows.

    The inputs have the values [row, slot].
    """
    differs = values[:, None, :] != values[None, :, :]
    says_less = ~(differs & (values[:, None, :] != 0)).any(axis=2) & differs.any(axis=2)
    less, more = np.nonzero(says_less)
    changes = (table[:, less] != 0) & (table[:, less] != table[:, more])
    return ~(changes & rows[:, less] & rows[:, more]).any(axis=1)

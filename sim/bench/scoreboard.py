"""The tally of a regression: what was compared, what differed, what broke the contract."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from trilut.sim.bench.job import Job, ViolationKind
from trilut.sim.bench.ports import Payload, Ports

__all__ = ["Scoreboard"]

# How many mismatches, and violations of each kind, a report shows.
_NUM_SHOWN = 10
# So many violations, and the rest of the regression would say nothing new.
_MAX_VIOLATIONS = 100


class Scoreboard:
    """Compares results with the model and keeps the tally."""

    def __init__(self, ports: Ports, job: Job, num_vectors: int) -> None:
        self._ports = ports
        self._job = job
        self._wrong = np.zeros(num_vectors, dtype=np.bool_)
        self._checked = np.zeros(num_vectors, dtype=np.bool_)
        self._mismatches: list[dict[str, object]] = []
        self._violations: list[dict[str, object]] = []
        self.num_violations = dict.fromkeys(ViolationKind, 0)

    def violation(self, kind: ViolationKind, cycle: int, message: str) -> None:
        """Note that the design broke the contract of its ports."""
        self.num_violations[kind] += 1
        # A few of each kind: a flood of one must not hide another.
        if self.num_violations[kind] <= _NUM_SHOWN:
            self._violations.append({"kind": kind.value, "cycle": cycle, "message": message})

    @property
    def in_step(self) -> bool:
        """Whether each vector has given one result so far."""
        kinds = (
            ViolationKind.LOST,
            ViolationKind.EXTRA,
            ViolationKind.LEFTOVER,
            ViolationKind.HANG,
        )
        return not any(self.num_violations[kind] for kind in kinds)

    @property
    def hopeless(self) -> bool:
        """Whether there is no point in going on."""
        most = 0 if self._job.selects else _MAX_VIOLATIONS
        return (
            self.num_violations[ViolationKind.HANG] > 0
            or sum(self.num_violations.values()) > most
            or (bool(self._job.selects) and bool(self._wrong.any()))
        )

    def compare(self, first: int, received: Sequence[Payload], *, in_step: bool) -> int:
        """Compare results, the first of which belongs to vector ``first``.

        Results that are not in step, because some were lost or are too many, are compared only up
        to the first wrong one. Return how many were compared.
        """
        expected = self._ports.results(slice(first, first + len(received)))
        num_compared = 0
        for vector, (got, want) in enumerate(zip(received, expected, strict=False), start=first):
            if got != want:
                if not in_step:
                    break
                self._mismatch(vector, got, want)
            num_compared += 1
        self._checked[first : first + num_compared] = True
        return num_compared

    def _mismatch(self, vector: int, got: Payload, want: Payload) -> None:
        self._wrong[vector] = True
        if len(self._mismatches) < _NUM_SHOWN:
            self._mismatches.append(
                {
                    "vector": vector,
                    "origin": self._origin(vector),
                    "inputs": self._ports.read_vector(vector),
                    "expected": self._ports.read_result(want),
                    "got": self._ports.read_result(got),
                }
            )

    def _origin(self, vector: int) -> str:
        ends = np.cumsum(list(self._job.origins.values()))
        return list(self._job.origins)[int(np.searchsorted(ends, vector, side="right"))]

    def report(self) -> dict[str, object]:
        """Give the tally as JSON values."""
        ends = np.cumsum([0, *self._job.origins.values()])
        parts = [slice(start, end) for start, end in pairwise(ends)]
        return {
            "num_checked": {
                origin: int(self._checked[part].sum())
                for origin, part in zip(self._job.origins, parts, strict=True)
            },
            "num_mismatches": int(self._wrong.sum()),
            "mismatches": self._mismatches,
            "num_violations": {
                kind.value: count for kind, count in self.num_violations.items() if count
            },
            "violations": self._violations,
        }

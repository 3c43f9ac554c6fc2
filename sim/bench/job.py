"""The job that the regression hands to the test bench: a JSON file with arrays beside it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.head import Decisions
from trilut.circuit.interface import Interface, Steps, Vectors
from trilut.files import write_atomically

__all__ = ["JOB_VARIABLE", "Job", "Model", "ViolationKind"]

JOB_VARIABLE = "TRILUT_SIM_JOB"
"""The environment variable that names the job file."""


class ViolationKind(StrEnum):
    """How a design can break the contract of its ports, besides giving a wrong result."""

    LOST = "lost"
    """A vector went in and no result came out."""
    EXTRA = "extra"
    """A result came out for which no vector had gone in."""
    LEFTOVER = "leftover"
    """A result came out after a reset that should have removed it."""
    UNSTABLE = "unstable"
    """A result changed or vanished while the sink was not ready."""
    LATENCY = "latency"
    """A result took more or fewer cycles than promised though nothing stalled."""
    THROUGHPUT = "throughput"
    """The input stalled though the sink was always ready."""
    UNRESOLVED = "unresolved"
    """A signal that must be 0 or 1 was neither."""
    FRAMING = "framing"
    """The design did not say of a packet that it was dropped, or said it of another."""
    HANG = "hang"
    """The input stalled for good."""


@dataclass(frozen=True, slots=True)
class Job:
    """How to drive the design.

    Parameters
    ----------
    interface : Interface
        The ports of the design.
    seed : int
        Of the pauses and the resets.
    origins : mapping
        Number of vectors of each origin, in the order of the model.
    selects : tuple of int
        Faults to choose one after the other, in a design that has a register ``select`` for them.
        Of each is only asked whether it shows.
    """

    interface: Interface
    seed: int
    origins: Mapping[str, int]
    selects: tuple[int, ...] = ()

    @property
    def latency(self) -> int:
        """Rising edges from a vector to its result, when nothing stalls."""
        return self.interface.latency

    @property
    def num_transfers(self) -> int:
        """Transfers of a vector."""
        return self.interface.num_beats

    def write(self, path: Path) -> None:
        """Write the job as JSON."""
        write_atomically(path, json.dumps(asdict(self), indent=1))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a job that :meth:`write` wrote."""
        job = json.loads(path.read_text())
        interface = Interface.from_dict(job["interface"])
        return cls(interface, job["seed"], job["origins"], tuple(job["selects"]))


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """Vectors and what the reference says about them.

    Parameters
    ----------
    vectors : FeatureVectors, int8 array [vector, trit], or Steps of one of them
        What goes in. Missing features carry arbitrary values, which the design must not look at.
    results : Decisions or int8 array [vector, output]
        What must come out.
    """

    vectors: Vectors | Steps
    results: Decisions | NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.vectors)

    def end(self, vector: int) -> int:
        """Return where the sequence of a vector ends: behind the vector, if it is of none."""
        if not isinstance(self.vectors, Steps):
            return vector + 1
        rest = np.flatnonzero(self.vectors.last[vector:])
        return vector + 1 + int(rest[0]) if len(rest) else len(self)

    def write(self, path: Path) -> None:
        """Write the arrays to an npz file."""
        arrays: dict[str, NDArray[np.generic]] = {}
        vectors = self.vectors
        if isinstance(vectors, Steps):
            arrays["last"] = vectors.last
            vectors = vectors.vectors
        if isinstance(vectors, FeatureVectors):
            arrays |= {"values": vectors.values, "valid": vectors.valid}
        else:
            arrays["trits"] = vectors
        if isinstance(self.results, Decisions):
            arrays |= self.results.arrays()
        else:
            arrays["outputs"] = self.results
        content = BytesIO()
        np.savez(content, allow_pickle=False, **arrays)
        write_atomically(path, content.getvalue())

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a model that :meth:`write` wrote."""
        with np.load(path, allow_pickle=False) as arrays:
            if "trits" in arrays:
                vectors = arrays["trits"]
            else:
                vectors = FeatureVectors(arrays["values"], arrays["valid"])
            last = arrays.get("last")
            if "outputs" in arrays:
                results = arrays["outputs"]
            else:
                names = (field.name for field in fields(Decisions))
                results = Decisions(**{name: arrays[name] for name in names if name in arrays})
        return cls(vectors if last is None else Steps(vectors, last), results)

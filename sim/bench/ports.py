"""The payload ports of a design inside the simulator, and how a model's arrays stand in them."""

from typing import Any

import numpy as np

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.head import Decisions
from trilut.sim.bench.job import Job, Model
from trilut.sim.bench.packing import (
    bits_to_text,
    pack_integers,
    pack_trits,
    text_to_bits,
    unpack_integers,
    unpack_trits,
)

__all__ = ["Payload", "Ports", "is_resolved"]

Payload = tuple[str, ...]
"""The value of every port of one side of the design, most significant bit first."""


class Ports:
    """The payload ports of the design, and how a model's arrays stand in them.

    Raises
    ------
    ValueError
        If a port has another width than the job says.
    """

    def __init__(self, dut: Any, job: Job, model: Model) -> None:
        self._job = job
        self._model = model
        if isinstance(model.vectors, FeatureVectors):
            inputs = {"in_features": sum(job.widths), "in_present": len(job.widths)}
        else:
            inputs = {"in_trits": 2 * model.vectors.shape[1]}
        if isinstance(model.results, Decisions):
            # The widths of the others are the design's choice.
            outputs: dict[str, int | None] = {"out_class": None, "out_margin": None}
            outputs["out_unknown"] = 1
            if hasattr(dut, "out_scores"):
                outputs["out_scores"] = None
        else:
            outputs = {"out_trits": 2 * model.results.shape[1]}
        self.inputs = {name: _port(dut, name, width) for name, width in inputs.items()}
        self.outputs = {name: _port(dut, name, width) for name, width in outputs.items()}

    def vectors(self, part: slice) -> list[Payload]:
        """Pack some vectors of the model."""
        vectors = self._model.vectors[part]
        if isinstance(vectors, FeatureVectors):
            features = pack_integers(vectors.values, self._job.widths, signed=self._job.signed)
            present = vectors.valid.astype(np.uint8)
            return list(zip(bits_to_text(features), bits_to_text(present), strict=True))
        return [(text,) for text in bits_to_text(pack_trits(vectors))]

    def results(self, part: slice) -> list[Payload]:
        """Pack some results of the model."""
        results = self._model.results
        if not isinstance(results, Decisions):
            return [(text,) for text in bits_to_text(pack_trits(results[part]))]
        columns = {
            "out_class": results.chosen[part, None],
            "out_margin": results.margin[part, None],
            "out_unknown": results.unknown[part, None],
            "out_scores": results.scores[part],
        }
        packed = []
        for name in self.outputs:
            widths = self._widths(name, columns[name].shape[1])
            bits = pack_integers(columns[name], widths, signed=name == "out_scores")
            packed.append(bits_to_text(bits))
        return list(zip(*packed, strict=True))

    def _widths(self, name: str, num_fields: int) -> list[int]:
        width, rest = divmod(len(self.outputs[name]), num_fields)
        if rest:
            raise ValueError(
                f"Port {name!r} has {len(self.outputs[name])} bits, "
                f"expected a multiple of {num_fields}"
            )
        return [width] * num_fields

    def read_result(self, payload: Payload) -> dict[str, object]:
        """Read a result for a report; a port that is not resolved stays text."""
        return {
            name.removeprefix("out_"): self._read(name, text) if is_resolved(text) else text
            for name, text in zip(self.outputs, payload, strict=True)
        }

    def _read(self, name: str, text: str) -> object:
        if name == "out_trits":
            return unpack_trits(text_to_bits([text]))[0].tolist()
        if name == "out_scores":
            assert isinstance(self._model.results, Decisions)
            widths = self._widths(name, self._model.results.scores.shape[1])
            return unpack_integers(text_to_bits([text]), widths, signed=True)[0].tolist()
        return int(text, 2)

    def read_vector(self, vector: int) -> list[int | None]:
        """Read a vector of the model for a report; a missing feature is None."""
        vectors = self._model.vectors[vector : vector + 1]
        if not isinstance(vectors, FeatureVectors):
            return [int(trit) for trit in vectors[0]]
        pairs = zip(vectors.values[0].tolist(), vectors.valid[0].tolist(), strict=True)
        return [value if valid else None for value, valid in pairs]


def _port(dut: Any, name: str, width: int | None) -> Any:
    port = getattr(dut, name)
    if width is not None and len(port) != width:
        raise ValueError(f"Port {name!r} has {len(port)} bits, expected {width}")
    return port


def is_resolved(text: str) -> bool:
    """Say whether every bit of a port value is 0 or 1."""
    return not text.strip("01")

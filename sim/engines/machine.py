"""A netlist that is ready to run, in C or in numpy."""

import ctypes
import dataclasses
import threading
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import Encoder, FeatureVectors
from trilut.circuit.head import Decisions, Head
from trilut.circuit.kinds import Kind
from trilut.circuit.netlist import Netlist
from trilut.sim.engines import bitplanes, native
from trilut.sim.engines.native import SourceKind
from trilut.sim.engines.program import NO_PLANE, Program

__all__ = ["Machine", "NativeMachine", "NumpyMachine", "Samples"]

Samples = FeatureVectors | NDArray[Any]
"""Feature vectors, feature values [sample, feature], or trits [sample, input]."""

# At one word for each plane, numpy spends its time on calls.
_NUMPY_STEP = 1 << 15
_NUMPY_BYTES = 1 << 27

_KINDS = {
    np.dtype(np.float64): SourceKind.FLOAT64,
    np.dtype(np.float32): SourceKind.FLOAT32,
    np.dtype(np.int64): SourceKind.INT64,
}


class Machine(Protocol):
    """A netlist that is ready to run.

    Parameters
    ----------
    program : Program
        Its instructions.
    step : int
        Number of samples that are computed at a time; a multiple of it wastes none.
    """

    program: Program
    step: int

    def evaluate(self, trits: NDArray[np.int8], outputs: NDArray[np.int8]) -> bool:
        """Set the outputs of some samples; return whether their trits are truth values."""

    def decide(self, samples: Samples, decisions: Decisions) -> bool:
        """Set the decisions about some samples; return whether trits are truth values.

        What is certain is set if there is an array for it.
        """


class NumpyMachine:
    """A netlist that numpy interprets."""

    def __init__(self, netlist: Netlist, program: Program) -> None:
        # Not the netlist itself: the cache of machines must not keep it alive.
        self.program = program
        self._encoder = netlist.encoder
        self._head = netlist.head
        self._is_bit = netlist.kinds[: netlist.num_inputs] == Kind.BIT
        words = _NUMPY_BYTES // (8 * max(1, program.num_planes))
        self.step = min(max(64 * words, 64), _NUMPY_STEP)

    def evaluate(self, trits: NDArray[np.int8], outputs: NDArray[np.int8]) -> bool:
        """Set the outputs of some samples; return whether their trits are truth values."""
        if not np.isin(trits, Kind.TRIT.values).all() or np.any(trits[:, self._is_bit] == 0):
            return False
        for start in range(0, len(trits), self.step):
            part = slice(start, start + self.step)
            outputs[part] = bitplanes.evaluate(self.program, trits[part])
        return True

    def decide(self, samples: Samples, decisions: Decisions) -> bool:
        """Set the decisions about some samples; return whether trits are truth values."""
        assert self._head is not None
        for start in range(0, len(samples), self.step):
            piece = slice(start, start + self.step)
            trits = _encoded(self._encoder, samples[piece])
            outputs = np.empty((len(trits), len(self.program.outputs)), dtype=np.int8)
            if not self.evaluate(trits, outputs):
                return False
            unknowns = None if decisions.certain is None else self._head.unknowns(outputs)
            made = self._head.decide(self._head.scores(outputs), unknowns).arrays()
            for name, array in decisions.arrays().items():
                array[piece] = made[name]
        return True


def _encoded(encoder: Encoder | None, samples: Samples) -> NDArray[np.int8]:
    if isinstance(samples, FeatureVectors):
        assert encoder is not None
        return encoder.trits(samples)
    return samples if encoder is None else encoder.encode(samples)


class NativeMachine:
    """A netlist that the C kernel interprets."""

    def __init__(self, netlist: Netlist, program: Program, library: native.Library) -> None:
        self.program = program
        self.step = library.step
        self._library = library
        self._encoder = netlist.encoder
        self._num_outputs = len(netlist.outputs)
        inputs = program.inputs.astype(np.int64)
        inputs[inputs == NO_PLANE] = -1
        scores = {}
        if program.scores is not None:
            has = program.scores.is_score
            scores = {
                "num_scores": np.where(has, program.scores.widths, -1),
                "lowest": program.scores.lowest,
            }
        self._struct = _Struct(
            native.Program,
            planes_per_net=program.planes_per_net,
            num_runs=len(program.runs),
            num_inputs=netlist.num_inputs,
            num_outputs=self._num_outputs,
            runs=program.runs,
            operands=program.operands,
            inputs=inputs.astype(np.int32),
            outputs=program.outputs,
            bits=_as_words(netlist.kinds[: netlist.num_inputs] == Kind.BIT),
            **scores,
        )
        self._from_values: _Struct | None = None
        self._from_integers: _Struct | None = None
        self._from_octets: _Struct | None = None
        if netlist.encoder is not None:
            self._from_values = _encoder_struct(
                netlist.encoder, program, _Levels.of(netlist.encoder)
            )
            levels = _Levels.of_integers(netlist.encoder)
            self._from_integers = _encoder_struct(netlist.encoder, program, levels)
            if octets := _Levels.of_octets(netlist.encoder):
                self._from_octets = _encoder_struct(netlist.encoder, program, octets)
        self._head = None
        if netlist.head is not None:
            self._head = _head_struct(netlist.head, program)
        self._local = threading.local()

    def evaluate(self, trits: NDArray[np.int8], outputs: NDArray[np.int8]) -> bool:
        """Set the outputs of some samples; return whether their trits are truth values."""
        batch = _Struct(
            native.Batch,
            kind=SourceKind.TRITS,
            num_samples=len(trits),
            num_columns=trits.shape[1],
            samples=trits,
            outputs=outputs,
        )
        return self._run(None, batch, len(trits))

    def decide(self, samples: Samples, decisions: Decisions) -> bool:
        """Set the decisions about some samples; return whether trits are truth values."""
        encoder, source = self._source(samples)
        batch = _Struct(
            native.Batch,
            num_samples=len(samples),
            **decisions.arrays(),
            **source,
        )
        return self._run(encoder, batch, len(samples))

    def _source(self, samples: Samples) -> tuple["_Struct | None", dict[str, Any]]:
        """Return the encoder to use and the fields of a batch that describe the samples."""
        if isinstance(samples, FeatureVectors):
            assert self._encoder is not None
            if _is_in_range(self._encoder, samples.values):
                fields = _source(SourceKind.INT64, samples.values.astype(np.int64, copy=False))
                valid = np.ascontiguousarray(samples.valid, dtype=np.bool_)
                return self._from_integers, {**fields, "valid": valid}
            # No hardware could receive them, but the plain encoder has an answer.
            return None, _source(SourceKind.TRITS, self._encoder.trits(samples))
        if self._from_values is None:
            return None, _source(SourceKind.TRITS, samples)
        if self._from_octets is not None and samples.dtype == np.uint8:
            return self._from_octets, _source(SourceKind.UINT8, samples)
        if samples.dtype not in _KINDS:
            samples = samples.astype(np.float64)
        return self._from_values, _source(_KINDS[samples.dtype], samples)

    def _run(self, encoder: "_Struct | None", batch: "_Struct", num_samples: int) -> bool:
        planes, workspace = self._memory()
        run = self._library.functions.trilut_run
        arguments = (self._struct.address, encoder and encoder.address, self._head_address)
        return bool(run(*arguments, batch.address, 0, num_samples, planes, workspace))

    @property
    def _head_address(self) -> int | None:
        return self._head.address if self._head else None

    def _memory(self) -> tuple[int, int]:
        """Return the addresses of this thread's planes and workspace."""
        if not hasattr(self._local, "memory"):
            size = 8 * (self.step // 64) * max(1, self.program.num_planes)
            self._local.memory = (_Aligned(size), _Aligned(self._library.workspace))
        planes, workspace = self._local.memory
        return planes.address, workspace.address


def _source(kind: int, samples: NDArray[Any]) -> dict[str, Any]:
    values = np.ascontiguousarray(samples)
    return {"kind": kind, "samples": values, "num_columns": values.shape[1]}


class _Aligned:
    """Zeroed memory at the start of a line of the cache."""

    def __init__(self, size: int) -> None:
        self._octets = np.zeros(size + 64, dtype=np.uint8)
        self.address = -(-self._octets.ctypes.data // 64) * 64


class _Struct:
    """A ctypes structure and the arrays that its pointers point into."""

    def __init__(self, kind: type[ctypes.Structure], /, **fields: Any) -> None:
        self._arrays = [value for value in fields.values() if isinstance(value, np.ndarray)]
        assert all(array.flags.c_contiguous for array in self._arrays)
        self._struct = kind(
            **{
                name: value.ctypes.data if isinstance(value, np.ndarray) else value
                for name, value in fields.items()
            }
        )
        self.address = ctypes.addressof(self._struct)


def _limits(encoder: Encoder) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    lowest = np.array([feature.minimum for feature in encoder.features], dtype=np.int64)
    highest = np.array([feature.maximum for feature in encoder.features], dtype=np.int64)
    return lowest, highest


def _is_in_range(encoder: Encoder, values: NDArray[np.int64]) -> bool:
    lowest, highest = _limits(encoder)
    return bool(np.all(values >= lowest) and np.all(values <= highest))


@dataclass(frozen=True, slots=True, eq=False)
class _Levels:
    """How the kernel makes levels, which count a feature's integers from 0, and where they change.

    Parameters
    ----------
    is_wide : bool
        Whether levels take 32 bits instead of 8.
    scale, offset : float64 array [feature]
        The affine map from values to integers.
    low, high : int64 array [trit]
        The lowest level at or above each threshold; more than any level if there is none.
    highest : int64 array [trit]
        The highest level of each trit's feature.
    """

    is_wide: bool
    scale: NDArray[np.float64]
    offset: NDArray[np.float64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    highest: NDArray[np.int64]

    @classmethod
    def of(cls, encoder: Encoder) -> Self:
        """Make levels from feature values."""
        lowest, highest = (limit[encoder.feature] for limit in _limits(encoder))
        return cls(
            is_wide=any(feature.bits > 8 for feature in encoder.features),
            scale=np.array([feature.scale for feature in encoder.features]),
            offset=np.array([feature.offset for feature in encoder.features]),
            low=np.maximum(encoder.low, lowest) - lowest,
            high=np.maximum(encoder.high, lowest) - lowest,
            highest=highest - lowest,
        )

    @classmethod
    def of_integers(cls, encoder: Encoder) -> Self:
        """Make levels from the integers that the hardware receives."""
        ones = np.ones(len(encoder.features))
        return dataclasses.replace(cls.of(encoder), scale=ones, offset=0 * ones)

    @classmethod
    def of_octets(cls, encoder: Encoder) -> Self | None:
        """Let values 0 … 255 be their own levels, if the features do not fall as the values rise.

        A threshold becomes the number of values that do not reach it. All values must count.
        """
        if any(feature.scale < 0 or feature.seen is not None for feature in encoder.features):
            return None
        values = np.repeat(np.arange(256.0)[:, None], len(encoder.features), axis=1)
        integers = encoder.quantize(values).values[:, encoder.feature]
        return dataclasses.replace(
            cls.of(encoder),
            is_wide=False,
            low=(integers < encoder.low).sum(axis=0),
            high=(integers < encoder.high).sum(axis=0),
            highest=np.full(encoder.num_trits, 255),
        )


def _encoder_struct(encoder: Encoder, program: Program, levels: _Levels) -> _Struct:
    """Describe an encoder to the kernel: only the trits that are read, sorted by feature."""
    live = np.flatnonzero(program.inputs != NO_PLANE)
    trits = live[np.argsort(encoder.feature[live], kind="stable")]
    lowest, highest = _limits(encoder)
    least_seen, most_seen = encoder.seen_limits()
    count = len(encoder.features)
    low, high = levels.low[trits], levels.high[trits]
    return _Struct(
        native.Encoder,
        num_features=count,
        num_trits=len(trits),
        is_wide=levels.is_wide,
        scale=levels.scale,
        offset=levels.offset,
        lowest=lowest.astype(np.float64),
        highest=highest.astype(np.float64),
        least_seen=np.ascontiguousarray(least_seen),
        most_seen=np.ascontiguousarray(most_seen),
        first_trit=np.searchsorted(encoder.feature[trits], np.arange(count + 1)),
        plane=program.inputs[trits].astype(np.int32),
        # A threshold that no level reaches may not fit; its mask says so.
        low=np.minimum(low, levels.highest[trits]).astype(np.uint32),
        high=np.minimum(high, levels.highest[trits]).astype(np.uint32),
        low_mask=_mask(low <= levels.highest[trits]),
        high_mask=_mask(high <= levels.highest[trits]),
        missing_mask=_mask(encoder.missing[trits] == -1),
    )


# Trits, then planes that count 1, 2, 4 and 8; mirrors PARTS of the kernel.
_TRITS, _ONES, _TWOS, _NUM_PARTS = 0, 1, 2, 5


def _head_struct(head: Head, program: Program) -> _Struct:
    """Describe a head to the kernel: the planes of each class, by what they count."""
    num_classes = len(head.classes)
    group = np.repeat(np.arange(num_classes), head.group_sizes)
    is_score = np.zeros(len(group), dtype=np.bool_)
    widths, lowest = 0 * group, np.full(len(group), -1)
    if program.scores is not None:
        is_score, widths = program.scores.is_score, program.scores.widths
        lowest[is_score] = program.scores.lowest[is_score]
    plain = np.flatnonzero(~is_score)
    parts = [group[plain] * _NUM_PARTS + (_TRITS if program.planes_per_net == 2 else _TWOS)]
    planes = [program.outputs[plain]]
    for bit in range(_NUM_PARTS - _ONES):
        wide = np.flatnonzero(widths > bit)
        parts.append(group[wide] * _NUM_PARTS + _ONES + bit)
        planes.append(program.outputs[wide] + np.uint32(bit))
    part = np.concatenate(parts)
    order = np.argsort(part, kind="stable")
    return _Struct(
        native.Head,
        num_classes=num_classes,
        abstain_margin=head.abstain_margin,
        first_output=np.cumsum([0, *head.group_sizes]),
        base=np.bincount(group, lowest, num_classes).astype(np.int64),
        first_plane=np.searchsorted(part[order], np.arange(num_classes * _NUM_PARTS + 1)),
        planes=np.concatenate(planes)[order],
    )


def _as_words(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    octets = np.zeros(-(-len(bits) // 64) * 8, dtype=np.uint8)
    packed = np.packbits(bits, bitorder="little")
    octets[: len(packed)] = packed
    return octets.view("<u8")


def _mask(condition: NDArray[np.bool_]) -> NDArray[np.uint64]:
    return np.where(condition, ~np.uint64(0), np.uint64(0))

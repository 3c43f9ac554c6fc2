"""The encoder in hardware: integer comparisons that make trits from features."""

from collections.abc import Collection
from typing import Any

import numpy as np
from amaranth.hdl import Cat, Const, Module, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.data import ArrayLayout, StructLayout
from amaranth.lib.wiring import In, Out

from trilut.circuit.encoder import Encoder
from trilut.hdl.digits import DIGIT_BITS, DigitComparator, compared_bits

__all__ = ["FeatureEncoder", "feature_layout"]


def feature_layout(encoder: Encoder) -> StructLayout:
    """Return the packing of a feature vector: feature 0 lowest, each as wide as its ``bits``."""
    return StructLayout(
        {
            f"feature_{index}": signed(feature.bits) if feature.signed else unsigned(feature.bits)
            for index, feature in enumerate(encoder.features)
        }
    )


class FeatureEncoder(wiring.Component):
    """Thresholds on features.

    Trits that share a threshold share its comparator. The output is never the illegal code, because
    x ≥ high implies x ≥ low.

    Parameters
    ----------
    encoder : Encoder
        Features and thresholds.
    pipeline : int
        Number of layers between registers. If it is 1 and a comparison needs more than one LUT4, a
        register stands amid the comparisons, and features of up to eight bits pass one LUT4 on
        either side of it.
    registered : bool
        Whether there are registers at all: that one, and one at the output.
    single : collection of int
        The trits that are bits on one wire, 1 for +1; they are never 0.

    Attributes
    ----------
    latency : int
        Clock cycles from a vector to its trits: 1, or 2 with a register amid the comparisons, or 0.

    Members
    -------
    features : :py:`In(feature_layout(encoder))`
        Feature values.
    present : :py:`In(len(encoder.features))`
        Bit f is low if feature f is missing; its value is then ignored.
    o : :py:`Out(ArrayLayout(2, encoder.num_trits))`
        Trits. With bits among them, their wires one by one.
    en : :py:`In(1)`
        Enables the registers. Absent if there are none.
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        pipeline: int = 2,
        registered: bool = True,
        single: Collection[int] = (),
    ):
        self.encoder = encoder
        self.registered = registered
        self.single = single
        num_wires = 2 * encoder.num_trits - len(single)
        # One LUT4 compares all bits but one, because it also asks whether the feature is there.
        is_split = pipeline == 1 and _most_bits(encoder) >= DIGIT_BITS
        self.latency = 1 + is_split if registered else 0
        super().__init__(
            {
                "features": In(feature_layout(encoder)),
                "present": In(len(encoder.features)),
                "o": Out(ArrayLayout(1, num_wires) if single else ArrayLayout(2, num_wires // 2)),
                **({"en": In(1)} if registered else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        encoder = self.encoder
        present = self.present
        comparators = _Comparators(m, self)
        if self.latency == 2:
            present = Signal.like(self.present, name="present_register", reset_less=True)
            with m.If(self.en):
                m.d.sync += present.eq(self.present)
            comparators = _SplitComparators(m, self)
        present = self._counting(present, comparators)
        trits = []
        columns = (encoder.feature, encoder.low, encoder.high, encoder.missing)
        for trit, (feature, low, high, missing) in enumerate(np.stack(columns, axis=1).tolist()):
            plus = present[feature] & comparators.reaches(feature, high)
            if trit in self.single:
                trits.append(plus)
                continue
            minus = present[feature] & ~comparators.reaches(feature, low)
            trits.append(Cat(minus | ~present[feature] if missing else minus, plus))
        if not self.registered:
            m.d.comb += self.o.as_value().eq(Cat(trits))
            return m
        register = Signal(len(Cat(trits)), reset_less=True, name="pipeline_register")
        with m.If(self.en):
            m.d.sync += register.eq(Cat(trits))
        m.d.comb += self.o.as_value().eq(register)
        return m

    def _counting(self, present: Any, comparators: "_Comparators") -> list[Any]:
        """Return whether each feature is there and has an integer that counts.

        A trit rises with its feature, so thresholds alone could not make it UNKNOWN at both ends:
        it takes up to two comparators for a feature, and no logic for its trits, which ask whether
        the feature is there anyway.
        """
        counting = [present[index] for index in range(len(self.encoder.features))]
        for index, feature in enumerate(self.encoder.features):
            if feature.seen is not None:
                least, most = feature.seen
                counting[index] &= comparators.reaches(index, least)
                counting[index] &= ~comparators.reaches(index, most + 1)
        return counting


class _Comparators:
    """What compares features with thresholds, each threshold once."""

    def __init__(self, m: Module, component: FeatureEncoder):
        self._m = m
        self._component = component
        self._built: dict[tuple[int, int], Any] = {}

    def reaches(self, feature: int, threshold: int) -> Any:
        """Return whether a feature is at or above a threshold."""
        limits = self._component.encoder.features[feature]
        if not limits.minimum < threshold <= limits.maximum:
            return Const(threshold <= limits.minimum, 1)
        key = (feature, threshold)
        if key not in self._built:
            number = str(threshold).replace("-", "minus_")
            self._built[key] = Signal(name=f"feature_{feature}_reaches_{number}")
            self._m.d.comb += self._built[key].eq(self._compare(feature, threshold))
        return self._built[key]

    def _compare(self, feature: int, threshold: int) -> Any:
        value = self._value(feature)
        return value >= Const(threshold, value.shape())

    def _value(self, feature: int) -> Any:
        return self._component.features[f"feature_{feature}"]


class _SplitComparators(_Comparators):
    """The same one cycle later, with a register amid the comparisons."""

    def __init__(self, m: Module, component: FeatureEncoder):
        super().__init__(m, component)
        self._digits = [
            DigitComparator(m, f"feature_{feature}_bits", self._height(feature), component.en)
            for feature in range(len(component.encoder.features))
        ]

    def _height(self, feature: int) -> Any:
        """Return a feature counted from its minimum: a sign is inverted."""
        limits = self._component.encoder.features[feature]
        value = self._value(feature).as_unsigned()
        return Cat(value[:-1], ~value[-1]) if limits.signed else value

    def _compare(self, feature: int, threshold: int) -> Any:
        limits = self._component.encoder.features[feature]
        return self._digits[feature].reaches(threshold - limits.minimum)


def _most_bits(encoder: Encoder) -> int:
    """Return the most bits that a comparison looks at."""
    thresholds = np.concatenate([encoder.low, encoder.high]).tolist()
    features = [encoder.features[feature] for feature in encoder.feature.tolist() * 2]
    for feature in encoder.features:
        if feature.seen is not None:
            thresholds += [feature.seen[0], feature.seen[1] + 1]
            features += [feature, feature]
    return max(
        (
            compared_bits(feature.bits, threshold - feature.minimum)
            for feature, threshold in zip(features, thresholds, strict=True)
            if feature.minimum < threshold <= feature.maximum
        ),
        default=0,
    )

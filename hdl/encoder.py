"""The encoder in hardware: integer comparisons that make trits from features."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.data import ArrayLayout, StructLayout
from amaranth.lib.wiring import In, Out

from trilut.encoder import Encoder

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

    The latency is one clock cycle, or none without the register. Trits that share a threshold share
    its comparator. The output is never the illegal code, because x ≥ high implies x ≥ low.

    Parameters
    ----------
    encoder : Encoder
        Features and thresholds.
    registered : bool
        Whether the output is a register.

    Members
    -------
    features : :py:`In(feature_layout(encoder))`
        Feature values.
    present : :py:`In(len(encoder.features))`
        Bit f is low if feature f is missing; its value is then ignored.
    o : :py:`Out(ArrayLayout(2, encoder.num_trits))`
        Trits.
    en : :py:`In(1)`
        Enables the register. Absent if there is none.
    """

    def __init__(self, encoder: Encoder, *, registered: bool = True):
        self.encoder = encoder
        self.registered = registered
        super().__init__(
            {
                "features": In(feature_layout(encoder)),
                "present": In(len(encoder.features)),
                "o": Out(ArrayLayout(2, encoder.num_trits)),
                **({"en": In(1)} if registered else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        encoder = self.encoder
        at_least: dict[tuple[int, int], Any] = {}

        def reaches(feature: int, threshold: int) -> Any:
            key = (feature, threshold)
            limits = encoder.features[feature]
            if not limits.minimum < threshold <= limits.maximum:
                return Const(threshold <= limits.minimum, 1)
            if key not in at_least:
                number = str(threshold).replace("-", "minus_")
                at_least[key] = Signal(name=f"feature_{feature}_reaches_{number}")
                value = self.features[f"feature_{feature}"]
                m.d.comb += at_least[key].eq(value >= Const(threshold, value.shape()))
            return at_least[key]

        trits = []
        thresholds = zip(
            encoder.feature.tolist(), encoder.low.tolist(), encoder.high.tolist(), strict=True
        )
        for feature, low, high in thresholds:
            present = self.present[feature]
            plus = present & reaches(feature, high)
            minus = present & ~reaches(feature, low)
            trits.append(Cat(minus if encoder.missing == 0 else minus | ~present, plus))
        if not self.registered:
            m.d.comb += self.o.as_value().eq(Cat(trits))
            return m
        register = Signal(2 * encoder.num_trits, reset_less=True, name="pipeline_register")
        with m.If(self.en):
            m.d.sync += register.eq(Cat(trits))
        m.d.comb += self.o.as_value().eq(register)
        return m

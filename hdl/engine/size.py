"""How large an engine is, and which models fit it."""

from dataclasses import dataclass, fields

from trilut.engine.image import Image
from trilut.engine.instructions import ADDRESS_BITS, MAX_LANES, SCORE_BITS, VALUE_BITS
from trilut.errors import TrilutError

__all__ = ["EngineSize"]

_MAX_SAMPLES = 64
_MAX_INSTRUCTIONS = 1 << 20


@dataclass(frozen=True, slots=True)
class EngineSize:
    """The sizes of an engine.

    Parameters
    ----------
    samples : int
        Number of samples that are computed side by side: 1, 2, 4 … 64.
    lanes : int
        Number of gates that are computed at a time: 1, 2, 4 or 8.
    entries : int
        Entries of the value memory, a multiple of the lanes.
    instructions : int
        Instructions of the program memory, a multiple of the lanes. To be swapped without a pause,
        two models must fit at a time.
    value_bits : int
        Bits of a feature's value.
    score_bits : int
        Bits of a signed score.
    classes : int
        Most classes of a model.

    Raises
    ------
    TrilutError
        If there is no engine of that size.
    """

    samples: int = 8
    lanes: int = 1
    entries: int = 2048
    instructions: int = 16384
    value_bits: int = 8
    score_bits: int = 12
    classes: int = 16

    def __post_init__(self) -> None:
        powers = {
            "samples": [1 << power for power in range(_MAX_SAMPLES.bit_length())],
            "lanes": [1 << power for power in range(MAX_LANES.bit_length())],
        }
        for name, known in powers.items():
            if getattr(self, name) not in known:
                raise TrilutError(
                    f"The engine has {getattr(self, name)} {name}, "
                    f"expected one of {', '.join(map(str, known))}"
                )
        for name, least, most in (
            ("entries", 2 * self.lanes, 1 << ADDRESS_BITS),
            ("instructions", 16 * self.lanes, _MAX_INSTRUCTIONS),
            ("value_bits", 1, VALUE_BITS),
            ("score_bits", 2, SCORE_BITS),
            ("classes", 2, 1 << 10),
        ):
            if not least <= getattr(self, name) <= most:
                raise TrilutError(
                    f"The engine has {getattr(self, name)} {name.replace('_', ' ')}, "
                    f"expected {least}…{most}"
                )
        for name in ("entries", "instructions"):
            if getattr(self, name) % self.lanes:
                raise TrilutError(
                    f"The engine has {getattr(self, name)} {name}, "
                    f"expected a multiple of its {self.lanes} lanes"
                )

    @property
    def steps(self) -> int:
        """Steps of a program that fits."""
        return self.instructions // self.lanes

    @property
    def address_bits(self) -> int:
        """Bits of the number of an entry."""
        return (self.entries - 1).bit_length()

    @property
    def class_bits(self) -> int:
        """Bits of the number of a class."""
        return (self.classes - 1).bit_length()

    def check(self, image: Image) -> None:
        """Check that a model fits.

        Raises
        ------
        TrilutError
            If it does not; the message names the first size that is too small.
        """
        if image.lanes != self.lanes:
            raise TrilutError(
                f"The model is for {image.lanes} lanes, but the engine has {self.lanes}"
            )
        for name, needed in {
            "entries": image.num_entries,
            "instructions": image.words.size,
            "value_bits": image.value_bits,
            "score_bits": image.score_bits,
            "classes": image.num_classes,
        }.items():
            if needed > getattr(self, name):
                raise TrilutError(
                    f"The model needs {needed} {name.replace('_', ' ')}, "
                    f"but the engine has {getattr(self, name)}"
                )

    @property
    def command_line(self) -> str:
        """The options that make this engine."""
        return " ".join(
            f"--{field.name.replace('_', '-')} {getattr(self, field.name)}"
            for field in fields(self)
        )

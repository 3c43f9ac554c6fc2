"""What the engine does, in plain Python: the meaning of its instructions.

The hardware is compared with this step by step, and this with the netlist.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.head import Decisions
from trilut.circuit.trit import CODES
from trilut.engine.image import Image
from trilut.engine.instructions import SCORE_BITS, Field, Op, field, joined_table

__all__ = ["Machine", "classify"]

_BLOCK = 4096


class Machine:
    """An engine with a model, and any number of samples side by side.

    Parameters
    ----------
    image : Image
        The model.
    values : int64 array [sample, feature]
        What the features are, counted from the lowest that each can be.
    valid : bool array [sample, feature]
        False where a feature is missing.

    Attributes
    ----------
    entries : uint8 array [entry, sample]
        The codes in the memory.
    sums : int64 array [sample]
        What has been added up for the class at hand.
    scores : int64 array [class, sample]
        What the classes have.
    feature : int
        The feature that is being taken in.
    is_over : bool
        Whether the program has ended.
    """

    def __init__(self, image: Image, values: NDArray[np.int64], valid: NDArray[np.bool_]):
        self.image = image
        self._values, self._valid = values, valid
        self.entries = np.zeros((image.num_entries, len(values)), dtype=np.uint8)
        self.sums = np.zeros(len(values), dtype=np.int64)
        self.scores = np.zeros((image.num_classes, len(values)), dtype=np.int64)
        self.feature = 0
        self.is_over = False
        self._rows = [0] * image.lanes

    def step(self, words: ArrayLike) -> None:
        """Execute the instructions of one step, one for each lane; all read before one writes."""
        lanes = enumerate(np.asarray(words, dtype=np.uint64))
        written = [self._execute(lane, word) for lane, word in lanes]
        for word, codes in zip(np.asarray(words, dtype=np.uint64), written, strict=True):
            if codes is not None:
                self.entries[field(word, Field.DESTINATION)] = codes

    def _execute(self, lane: int, word: np.uint64) -> NDArray[np.uint8] | None:
        """Execute an instruction; return what is to be written."""

        def of(name: Field) -> int:
            return int(field(word, name))

        op = Op(of(Field.OP))
        if op == Op.ENCODE:
            trits = self._encoded(of(Field.LOW), of(Field.HIGH), of(Field.MISSING))
            self.feature += of(Field.LAST)
            return trits
        if op == Op.NEXT:
            self.feature += 1
        elif op == Op.EXTEND:
            self._rows[lane] = of(Field.ROWS)
        elif op == Op.SCORE:
            base = of(Field.BASE)
            base -= base >> SCORE_BITS - 1 << SCORE_BITS
            before = self.scores[of(Field.CLASS)] if of(Field.ADD) else base
            self.scores[of(Field.CLASS)] = before + self.sums
            self.sums[:] = 0
        elif op == Op.END:
            self.is_over = True
        elif op != Op.NOP:
            table = joined_table(of(Field.TABLE), self._rows[lane])
            self._rows[lane] = 0
            row = 4 * self.entries[of(Field.A)] + self.entries[of(Field.B)]
            result = np.array(table, dtype=np.uint8)[row]
            if op != Op.GATE:
                shift = 0 if op == Op.GATE_SUM else op - Op.SUM_1
                self.sums += ((result >> 1).astype(np.int64) - (result & 1)) << shift
            if op in (Op.GATE, Op.GATE_SUM):
                return result
        return None

    def _encoded(self, low: int, high: int, missing: int) -> NDArray[np.uint8]:
        """Return the codes of the trit of two thresholds on the feature at hand."""
        x, valid = self._values[:, self.feature], self._valid[:, self.feature]
        codes = np.where(x >= high, CODES[1], 0) | np.where(x < low, CODES[-1], 0)
        return np.where(valid, codes, CODES[-missing]).astype(np.uint8)

    def run(self) -> Decisions:
        """Execute the program; return what it decides."""
        for words in self.image.words:
            self.step(words)
        assert self.is_over
        return self.image.head.decide(self.scores.T)


def classify(image: Image, vectors: FeatureVectors) -> Decisions:
    """Return what a model says of samples."""
    parts = [
        Machine(image, *image.codes(vectors[start : start + _BLOCK])).run()
        for start in range(0, max(1, len(vectors)), _BLOCK)
    ]
    arrays = [part.arrays() for part in parts]
    return Decisions(
        **{name: np.concatenate([part[name] for part in arrays]) for name in arrays[0]}
    )

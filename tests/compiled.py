"""C that a netlist was exported as, compiled and called."""

import ctypes
import re
import subprocess

import numpy as np

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.head import Decisions
from trilut.circuit.monotone import is_monotone

STRICT = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wtrigraphs", "-Werror"]
ALONE = ["-ffreestanding", "-nostdlib"]


class CompiledNetlist:
    """The functions of one exported netlist."""

    def __init__(self, netlist, path, *, lanes=64):
        self.netlist = netlist
        library = path.parent / f"lib{lanes}.so"
        # Nothing may be undefined: there is no library to find it in.
        options = [*STRICT, *ALONE, "-O1", "-fPIC", "-shared", "-Wl,-z,defs"]
        macros = [f"-DNET_LANES={lanes}", "-DNET_SELF_TEST", "-DNET_NAMES"]
        subprocess.run(["cc", *options, *macros, "-o", library, path], check=True)
        self.library = ctypes.CDLL(str(library))
        text = path.with_suffix(".h").read_text()
        self.value = np.dtype(re.search(r"typedef (\w+)_t net_value;", text)[1])
        self.work = (ctypes.c_uint64 * (1 << 16))()

    def self_test(self):
        return self.library.net_self_test()

    def quantize(self, samples):
        features = np.zeros(samples.shape, dtype=self.value)
        present = np.zeros(samples.shape, dtype=np.uint8)
        for sample, feature, there in zip(samples, features, present, strict=True):
            self.library.net_quantize(*map(_pointer, (sample, feature, there)))
        return FeatureVectors(features.astype(np.int64), present.astype(bool))

    def many(self, inputs):
        """Return the answers to all inputs by one call."""
        arrays = self._arrays(inputs)
        answers = self._answers(len(inputs))
        count = ctypes.c_size_t(len(inputs))
        getattr(self.library, f"net_{self._verb}_many")(
            self.work, *map(_pointer, arrays), count, _pointer(answers)
        )
        return self._unpacked(answers)

    def one_by_one(self, inputs):
        """Return the answers to all inputs, each by a call."""
        arrays = self._arrays(inputs)
        answers = self._answers(len(inputs))
        for number in range(len(inputs)):
            rows = [None if array is None else array[number] for array in arrays]
            getattr(self.library, f"net_{self._verb}")(
                self.work, *map(_pointer, rows), _pointer(answers[number:])
            )
        return self._unpacked(answers)

    @property
    def _verb(self):
        return "evaluate" if self.netlist.head is None else "decide"

    def _arrays(self, inputs):
        if not isinstance(inputs, FeatureVectors):
            return [np.ascontiguousarray(inputs, dtype=np.int8)]
        valid = None if inputs.valid.all() else inputs.valid.astype(np.uint8)
        return [inputs.values.astype(self.value), valid]

    def _answers(self, count):
        net = self.netlist
        if net.head is None:
            return np.zeros((count, len(net.outputs)), dtype=np.int8)
        classes = len(net.head.classes)
        fields = [("scores", "i4", (classes,)), ("chosen", "i4"), ("margin", "i4")]
        fields += [("unknown", "u1")] + [("certain", "u1")] * is_monotone(net)
        if net.head.set_margin is not None:
            fields.append(("members", "u1", (classes,)))
        return np.zeros(count, dtype=np.dtype(fields, align=True))

    def _unpacked(self, answers):
        if self.netlist.head is None:
            return answers
        return Decisions(**{name: answers[name] for name in answers.dtype.names})


def _pointer(array):
    return None if array is None else ctypes.c_void_p(array.ctypes.data)

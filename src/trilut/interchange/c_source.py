"""A netlist as C: one freestanding C99 file and its header, bit-exact, many samples a word.

The C is the simulator's program: plane instructions that compute on one word a plane, a bit a
sample. ``c`` writes one statement for each; ``c-compact`` writes their operands as tables, and a
loop for each kernel.
"""

from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import Encoder
from trilut.circuit.head import Head
from trilut.circuit.kinds import Kind
from trilut.circuit.monotone import is_monotone
from trilut.circuit.netlist import Netlist
from trilut.circuit.optimize import optimize
from trilut.circuit.origin import origin_facts
from trilut.identifier import check_identifier
from trilut.interchange import c_parts
from trilut.interchange.c_logic import STATEMENTS, loops, statements
from trilut.interchange.c_scores import Terms
from trilut.interchange.c_self_test import self_test
from trilut.interchange.c_text import Integers, array
from trilut.sim.engines.program import NO_PLANE, Program
from trilut.text import cut

__all__ = ["c_files", "quantization"]

# C99 promises string literals of so many bytes; a character of UTF-8 takes up to four.
_NAME_CHARACTERS = 4095 // 4

_LARGEST = float(np.finfo(np.float64).max)


def c_files(
    netlist: Netlist, name: str, *, compact: bool = False, optimized: bool = True
) -> dict[str, str]:
    """Return a header and a C file that compute what a netlist does, by their names.

    Parameters
    ----------
    name : str
        Of the files, and the prefix of every name in them.
    compact : bool
        Whether to write tables and loops, which take less code and more time, or statements.
    optimized : bool
        Whether the circuit is optimised for the trits that the encoder makes; without, it is for
        any trits.

    Raises
    ------
    NetlistError
        If the name is no plain identifier.
    """
    # Program optimises for any trits.
    program = Program.of(optimize(netlist).netlist if optimized else netlist)
    source = _Source(netlist, check_identifier(name), program, compact)
    return {f"{name}.h": source.header, f"{name}.c": source.body}


@dataclass(frozen=True, eq=False)
class _Source:
    netlist: Netlist
    name: str
    program: Program
    compact: bool

    @property
    def is_ternary(self) -> bool:
        return self.program.planes_per_net == 2

    @cached_property
    def values(self) -> "Integers":
        encoder = self.netlist.encoder
        if encoder is None:
            return Integers(-1, 1)
        features = encoder.features
        return Integers(min(f.minimum for f in features), max(f.maximum for f in features))

    @cached_property
    def terms(self) -> Terms | None:
        """What scores are added up from, if there are any."""
        return Terms.of(self.netlist.head, self.program) if self.netlist.head else None

    @property
    def index(self) -> str:
        """The type of the number of a plane, an input or an output."""
        program = self.program
        most = max(program.num_planes, len(program.inputs), len(program.outputs), STATEMENTS)
        return Integers(0, most).index

    @cached_property
    def header(self) -> str:
        net = self.netlist
        answer, digits = "", ""
        if net.head is not None:
            answer = _decision_type(net.head, certain=is_monotone(net))
            counts = f"[@NET@_NUM_CLASSES][{self.program.planes_per_net}]"
            if self.terms is not None:
                counts = "[@NET@_NUM_TERMS]"
            digits = f"\n    @net@_word digits{counts}[@NET@_DIGITS];"
        return self._filled(
            "\n".join(_comment(net)) + "\n" + c_parts.HEADER,
            constants="\n".join(f"#define @NET@_{key} {x}" for key, x in self._constants().items()),
            input_meaning=_input_meaning(net),
            value=self.values.type,
            answer=answer or "// The answer is a trit for each output: -1, 0 or 1, of type int8_t.",
            num_planes=str(max(1, self.program.num_planes)),
            digits=digits,
            prototypes=self._prototypes(),
            names="\n".join(f"extern const char *const @net@_{key}[];" for key in self._names()),
        )

    @cached_property
    def body(self) -> str:
        net = self.netlist
        parts = ["\n".join(_comment(net)), f'#include "{self.name}.h"', *self._load()]
        gates = loops(self.program, self.index) if self.compact else statements(self.program)
        parts += [self._filled(gates), *self._answers()]
        if net.encoder is not None:
            parts.append(self._filled(quantization(net.encoder)))
        if names := self._names():
            tables = "\n".join(
                f"const char *const @net@_{key}[] = {{\n{texts}\n}};"
                for key, texts in names.items()
            )
            parts.append(self._filled(f"#ifdef @NET@_NAMES\n{tables}\n#endif"))
        parts.append(self._filled(self_test(net)))
        return "\n\n".join(part.strip("\n") for part in parts) + "\n"

    def _constants(self) -> dict[str, int]:
        net = self.netlist
        constants = {"NUM_INPUTS": net.num_inputs, "NUM_OUTPUTS": len(net.outputs)}
        if net.encoder is not None:
            constants["NUM_FEATURES"] = len(net.encoder.features)
        if net.head is not None:
            constants["NUM_CLASSES"] = len(net.head.classes)
            constants["DIGITS"] = max(net.head.group_sizes).bit_length()
        if self.terms is not None:
            constants["NUM_TERMS"] = len(self.terms.planes)
        return constants

    def _sources(self) -> dict[str, str]:
        """Return how inputs are declared, passed on, and passed from a sample on."""
        if self.netlist.encoder is None:
            source, inputs = "const @net@_value *trits", "trits"
            later = "trits + first * @NET@_NUM_INPUTS"
        else:
            source = "const @net@_value *features, const uint8_t *present"
            inputs = "features, present"
            later = (
                "features + first * @NET@_NUM_FEATURES,\n"
                "                     present == NULL ? NULL : present + first * "
                "@NET@_NUM_FEATURES"
            )
        return {"source": source, "inputs": inputs, "inputs_from_first": later}

    def _prototypes(self) -> str:
        source = self._sources()["source"]
        if self.netlist.encoder is None:
            what = "Trits are [sample][input]"
        else:
            what = (
                "Features are [sample][feature], and so is what is present: 0 if a feature is "
                "missing;\n// NULL if all are there"
            )
        verb, answer = self._verb, "@net@_decision *decision"
        if self.netlist.head is None:
            answer = "int8_t *output"
        quantize = "" if self.netlist.encoder is None else c_parts.PROTOTYPE_QUANTIZE
        return (
            f"{quantize}// {what}.\n"
            f"void @net@_{verb}(@net@_workspace *work, {source}, {answer}"
            f"{'s' if self.netlist.head is None else ''});\n"
            f"void @net@_{verb}_many(@net@_workspace *work, {source}, size_t count,\n"
            f"    {answer}s);\n"
        )

    @property
    def _verb(self) -> str:
        return "evaluate" if self.netlist.head is None else "decide"

    def _filled(self, text: str, **parts: str) -> str:
        """Return a part of the text with its places filled, names last."""
        # Parts come first, because they have places of their own, and win over sources.
        places = parts | {**self._sources(), "index": self.index} | parts
        for key, part in places.items():
            text = text.replace(f"@{key}@", part)
        return text.replace("@net@", self.name).replace("@NET@", self.name.upper())

    def _load(self) -> list[str]:
        """Return what sets the planes of inputs."""
        used = np.flatnonzero(self.program.inputs != NO_PLANE)
        encoder = self.netlist.encoder
        if len(used) == 0:
            source = self._sources()
            inputs, _, present = source["inputs"].partition(", ")
            silent = f"\n    (void){present};" if present else ""
            return [self._filled(c_parts.ENCODE_NOTHING, inputs=inputs, present=silent)]
        arrays = [array(self.index, "input_plane", self.program.inputs[used])]
        if encoder is None:
            arrays.append(array(self.index, "input_number", used))
            return [*arrays, self._filled(c_parts.TAKE_TRITS, **self._minus("x < 0"))]
        values = self.values
        kind = Integers(values.lowest, values.highest + 1).type
        features = encoder.feature[used]
        feature_index = Integers(0, len(encoder.features)).index
        arrays.append(array(feature_index, "input_feature", features))
        arrays.append(array(kind, "input_high", _clamped(encoder.high[used], values)))
        if self.is_ternary:
            arrays.append(array(kind, "input_low", _clamped(encoder.low[used], values)))
        seen = ""
        if any(feature.seen is not None for feature in encoder.features):
            least, most = encoder.seen_limits()
            arrays.append(array(kind, "least_seen", _clamped(least, values)))
            arrays.append(array(kind, "most_seen", _clamped(most, values)))
            seen = (
                " &&\n                x >= least_seen[input_feature[trit]] &&"
                "\n                x <= most_seen[input_feature[trit]]"
            )
        absent = ""
        if self.is_ternary and encoder.missing[used].any():
            arrays.append(array("uint8_t", "is_minus_if_missing", encoder.missing[used] == -1))
            absent = " | ((there ^ 1) & is_minus_if_missing[trit])"
        below = f"(there & (x < input_low[trit])){absent}"
        return [*arrays, self._filled(c_parts.ENCODE, seen=seen, **self._minus(below))]

    def _minus(self, condition: str) -> dict[str, str]:
        """Return what is said of the minus plane of an input, if it has one."""
        if not self.is_ternary:
            return dict.fromkeys(("minus_start", "minus", "minus_end"), "")
        place = "trit" if self.netlist.encoder is not None else "input"
        return {
            "minus_start": ", minus = 0",
            "minus": f"\n            const unsigned is_minus = {condition};"
            "\n            minus = (@net@_word)(minus << 1 | is_minus);",
            "minus_end": f"\n        planes[input_plane[{place}] + 1] = minus;",
        }

    def _answers(self) -> list[str]:
        """Return what makes answers from the planes of outputs."""
        head, terms = self.netlist.head, self.terms
        outputs = array(self.index, "output_plane", self.program.outputs)
        if head is None:
            output = "plus - (int)(planes[1] >> lane & 1)" if self.is_ternary else "2 * plus - 1"
            return [outputs, self._filled(c_parts.EVALUATE_LANES, output=output)]
        rules = _rules(head, certain=is_monotone(self.netlist))
        if terms is not None:
            tables = [terms.arrays(self.index)]
            rules |= {"votes": "const int32_t *sums", "first_score": "sums[0]", "score": "sums[c]"}
            lanes = self._filled(c_parts.SCORE_LANES, many=c_parts.DECIDE_MANY)
        else:
            tables = [outputs, array(self.index, "first_output", np.cumsum([0, *head.group_sizes]))]
            rules |= {
                "votes": "const int32_t *plus, const int32_t *minus",
                "first_score": "plus[0] - minus[0]",
                "score": "plus[c] - minus[c]",
            }
            lanes = self._filled(
                c_parts.DECIDE_LANES, many=c_parts.DECIDE_MANY, **self._minus_votes()
            )
        counting = [self._filled(part) for part in (c_parts.COUNT, c_parts.SUM)]
        return [*tables, *counting, self._filled(c_parts.DECIDE, **rules), lanes]

    def _minus_votes(self) -> dict[str, str]:
        """Return how outputs that are −1 are counted."""
        if self.is_ternary:
            return {
                "minus_sum": "sum(work->planes, from, size, 1)",
                "minus_count": "\n        count_planes(work->planes, from, size, 1, "
                "work->digits[c][1]);",
                "minus_number": "number_of(work->digits[c][1], lane)",
            }
        size = "(int32_t)(first_output[c + 1] - first_output[c])"
        return {
            "minus_sum": "(int32_t)size - plus[c]",
            "minus_count": "",
            "minus_number": f"{size} - plus[c]",
        }

    def _names(self) -> dict[str, str]:
        """Return the tables of names as C, by what they name."""
        net = self.netlist
        names = {
            "features": [feature.name for feature in net.encoder.features] if net.encoder else [],
            "classes": net.head.classes if net.head else (),
        }
        return {
            key: ",\n".join(f"    {_literal(name)}" for name in texts)
            for key, texts in names.items()
            if texts
        }


def _comment(netlist: Netlist) -> list[str]:
    facts = {**origin_facts(netlist), "made by": f"trilut {version('trilut')}"}
    return [f"// {key + ':':9}{value}" for key, value in facts.items()]


def _input_meaning(netlist: Netlist) -> str:
    if netlist.encoder is None:
        kinds = set(netlist.kinds[: netlist.num_inputs].tolist())
        if kinds == {Kind.BIT, Kind.TRIT}:
            return "A bit: -1 or 1, or a trit: -1, 0 or 1."
        return f"A trit: -1{', 0' if Kind.TRIT in kinds else ''} or 1."
    return "A feature; each is an integer of its own bits, as @net@_quantize makes it."


def _decision_type(head: Head, *, certain: bool) -> str:
    lines = [
        "typedef struct {",
        "    int32_t scores[@NET@_NUM_CLASSES];",
        "    int32_t chosen;  // the class",
        "    int32_t margin;  // between the two highest scores",
        "    uint8_t unknown; // 1 if the margin is below that of abstention",
    ]
    if certain:
        lines.append("    uint8_t certain; // 1 if no value of a missing feature changes the class")
    if head.set_margin is not None:
        lines.append("    uint8_t members[@NET@_NUM_CLASSES]; // 1 if in the prediction set")
    return "\n".join([*lines, "} @net@_decision;"])


def _rules(head: Head, *, certain: bool) -> dict[str, str]:
    """Return what the head asks for as C."""
    widest = (1 << head.margin_bits) - 1
    # A margin that no score reaches need not fit into the type.
    rules = {
        "abstain_margin": str(min(head.abstain_margin, widest + 1)),
        "certain": "",
        "members": "",
    }
    if certain:
        rules["certain"] = """
    const int32_t own = 2 * plus[decision->chosen] -
        (int32_t)(first_output[decision->chosen + 1] - first_output[decision->chosen]);
    decision->certain = 1;
    for (int32_t c = 0; c < @NET@_NUM_CLASSES; c++)
        if (c != decision->chosen &&
            (int32_t)(first_output[c + 1] - first_output[c]) - 2 * minus[c] >= own)
            decision->certain = 0;"""
    if head.set_margin is not None:
        rules["members"] = f"""
    for (int32_t c = 0; c < @NET@_NUM_CLASSES; c++)
        decision->members[c] = best - decision->scores[c] <= {min(head.set_margin, widest)};"""
    return rules


def _clamped(thresholds: NDArray[np.int64] | NDArray[np.float64], values: Integers) -> list[int]:
    """Return thresholds as integers that compare in the same way with all values."""
    lowest, highest = values.lowest, values.highest + 1
    return [int(min(max(each, lowest), highest)) for each in thresholds.tolist()]


def quantization(encoder: Encoder) -> str:
    """Return C that turns numbers into features, with names still to be filled in."""
    least, most = encoder.seen_limits()
    rows = [
        f"    {{{_double(feature.scale)}, {_double(feature.offset)}, {_double(low)}, "
        f"{_double(high)}, {feature.minimum}, {feature.maximum}}}"
        for feature, low, high in zip(encoder.features, least.tolist(), most.tolist(), strict=True)
    ]
    text = c_parts.QUANTIZE.replace("@rows@", ",\n".join(rows))
    return text.replace("@largest@", _LARGEST.hex())


def _double(number: float) -> str:
    """Return a number exactly; the largest one stands for the infinite ones."""
    return min(max(number, -_LARGEST), _LARGEST).hex()


def _literal(name: str) -> str:
    """Return a name as a string of C; only letters, digits and spaces stand for themselves.

    It is UTF-8, and very long names are cut.
    """
    encoded = cut(name, _NAME_CHARACTERS).encode("utf-8", errors="replace")
    plain = [chr(byte) if chr(byte).isalnum() or byte == 32 else None for byte in range(128)]
    texts = [(plain[byte] if byte < 128 else None) or f"\\{byte:03o}" for byte in encoded]
    return f'"{"".join(texts)}"'

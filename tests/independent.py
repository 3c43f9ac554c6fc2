"""A second opinion on circuits, by an outsider.

Written from ``docs/netlist-format.md`` and ``docs/hardware.md`` alone, in plain Python, and sharing
no code with the package. Where it and the package disagree, one of the two or a page is wrong.
"""

import gzip
import json
import math
from dataclasses import dataclass
from string import Template
from typing import Any

BOUND = 2**62 - 1
VALUES = {"b": [-1, 1], "t": [-1, 0, 1], "s": list(range(-8, 8))}
"""The values of a net of each kind."""
WIRES = {"b": 1, "t": 2}
"""The wires of a net that gates may read."""
SIGNS = {-1: "-", 0: "0", 1: "+"}
"""The values of bits and trits in a table."""


class RefusedError(Exception):
    """The file is not a netlist."""


# Reading


def read(content: bytes) -> "Circuit":
    """Read a file, whatever its name is."""
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    _need(len(content) <= 128 << 20, "size")
    try:
        text = content.decode("utf-8")
        document = json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_number
        )
        # Halves of surrogate pairs have no UTF-8.
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise RefusedError("JSON") from error
    _need(_depth(document) <= 100, "depth")
    return _checked(document)


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    _need(len({key for key, _ in members}) == len(members), "key twice")
    return dict(members)


def _constant(name: str) -> None:
    raise RefusedError(name)


def _number(text: str) -> float:
    _need(math.isfinite(float(text)), "number")
    return float(text)


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


def _need(fact: bool, what: str) -> None:
    if not fact:
        raise RefusedError(what)


def _members(value: Any, **kinds: str) -> dict[str, Any]:
    """Check that the members of an object are there, and of these kinds."""
    _need(isinstance(value, dict), "object")
    for key, kind in kinds.items():
        _need(key in value, key)
        _need(_is(value[key], kind), key)
    return value


def _is(value: Any, kind: str) -> bool:
    if kind.startswith("list of "):
        return isinstance(value, list) and all(_is(each, kind[8:]) for each in value)
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, float) or (_is(value, "integer") and _is_finite(value))
    if kind == "name":
        return isinstance(value, str) and len(value) <= 65_536
    if kind == "object or null":
        return value is None or isinstance(value, dict)
    if kind == "object of lists of text":
        return isinstance(value, dict) and all(_is(each, "list of text") for each in value.values())
    return isinstance(value, {"object": dict, "text": str, "truth": bool, "any": object}[kind])


def _is_finite(value: int) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _checked(document: Any) -> "Circuit":
    _members(document, format="any", version="integer")
    _need(document["format"] == "trilut-netlist" and document["version"] in (1, 2, 3), "version")
    has_nodes = document["version"] == 3 and "gates" not in document
    _members(
        document,
        name="name",
        num_inputs="integer",
        encoder="object or null",
        outputs="list of integer",
        head="object or null",
        provenance="object",
        **({"kinds": "text", "nodes": "object"} if has_nodes else {}),
        **({} if has_nodes else {"valence": "integer", "gates": "object"}),
    )
    _need(1 <= document["num_inputs"] <= 2**24, "num_inputs")
    if has_nodes:
        _check_nodes(document)
    else:
        _need(document["version"] < 3 or "nodes" not in document, "gates and nodes")
        _check_gates(document)
    circuit = Circuit(document)
    _need(len(document["outputs"]) >= 1, "outputs")
    _need(all(0 <= net < len(circuit.kinds) for net in document["outputs"]), "output")
    if document["encoder"] is not None:
        _check_encoder(circuit)
    if document["head"] is not None:
        _check_head(circuit)
    else:
        _need(all(circuit.kinds[net] != "s" for net in document["outputs"]), "score without a head")
    return circuit


def _check_gates(document: dict[str, Any]) -> None:
    _need(document["valence"] in (2, 3), "valence")
    lists = dict.fromkeys(("id", "a", "b"), "list of integer")
    gates = _members(document["gates"], **lists)
    _need(len(gates["id"]) == len(gates["a"]) == len(gates["b"]), "length of gates")
    ids = {2: 16, 3: 19_683}[document["valence"]]
    first = document["num_inputs"]
    for gate, (number, a, b) in enumerate(zip(gates["id"], gates["a"], gates["b"], strict=True)):
        _need(0 <= number < ids, "id")
        _need(0 <= a < first + gate and 0 <= b < first + gate, "net")


def _check_nodes(document: dict[str, Any]) -> None:
    nodes = _members(document["nodes"], sources="list of list of integer", table="list of any")
    first, kinds = document["num_inputs"], document["kinds"]
    _need(len(nodes["sources"]) == len(nodes["table"]), "length of nodes")
    _need(len(kinds) == first + len(nodes["table"]), "length of kinds")
    _need(set(kinds) <= set(VALUES), "kinds")
    _need("s" not in kinds[:first], "an input that is a score")
    nodes = zip(nodes["sources"], nodes["table"], kinds[first:], strict=True)
    for net, (sources, table, kind) in enumerate(nodes, start=first):
        _need(1 <= len(sources) <= 6, "sources")
        _need(all(0 <= source < net for source in sources), "source")
        _need(all(kinds[source] in WIRES for source in sources), "a score that is read")
        _need(sum(WIRES[kinds[source]] for source in sources) <= 6, "wires")
        _need(_is(table, "list of integer" if kind == "s" else "text"), "table")
        _need(len(table) == math.prod(len(VALUES[kinds[source]]) for source in sources), "rows")
        values = VALUES[kind] if kind == "s" else [SIGNS[value] for value in VALUES[kind]]
        _need(all(value in values for value in table), "values")


def _check_encoder(circuit: "Circuit") -> None:
    document = circuit.document
    encoder = _members(
        document["encoder"],
        features="list of object",
        feature="list of integer",
        low="list of integer",
        high="list of integer",
        missing="any",
    )
    _members({"categories": {}, **encoder}, categories="object of lists of text")
    for feature in encoder["features"]:
        _members(
            feature, name="name", bits="integer", signed="truth", scale="number", offset="number"
        )
        _need(1 <= feature["bits"] <= 32, "bits")
        _need(feature["scale"] != 0, "scale")
        if document["version"] == 1:
            feature.pop("seen", None)
        elif "seen" in feature:
            _check_seen(feature)
    columns = [encoder[key] for key in ("feature", "low", "high")]
    _need({len(column) for column in columns} == {document["num_inputs"]}, "length of encoder")
    for feature, low, high in zip(*columns, strict=True):
        _need(0 <= feature < len(encoder["features"]), "feature")
        _need(-BOUND <= low <= high <= BOUND, "thresholds")
    has_array = document["version"] == 3 and isinstance(encoder["missing"], list)
    _need(_is(encoder["missing"], "list of integer" if has_array else "integer"), "missing")
    if has_array:
        _need(len(encoder["missing"]) == document["num_inputs"], "length of missing")
    for kind, low, high, missing in zip(
        circuit.kinds, encoder["low"], encoder["high"], circuit.missing, strict=False
    ):
        _need(missing in (0, -1), "missing")
        _need(kind != "b" or (low == high and missing == -1), "an input that is a bit")


def _check_seen(feature: dict[str, Any]) -> None:
    seen = _members(feature, seen="list of integer")["seen"]
    least, most = integers_of(feature)
    _need(len(seen) == 2, "seen")
    _need(-(2**53) <= seen[0] <= seen[1] <= 2**53, "seen")
    _need(seen[0] <= most and seen[1] >= least, "seen")


def integers_of(feature: dict[str, Any]) -> tuple[int, int]:
    """Return the smallest and the largest integer of a feature."""
    least = -(2 ** (feature["bits"] - 1)) if feature["signed"] else 0
    return least, least + 2 ** feature["bits"] - 1


def _check_head(circuit: "Circuit") -> None:
    document = circuit.document
    head = _members(
        document["head"],
        classes="list of name",
        group_sizes="list of integer",
        tau="number",
        abstain_margin="integer",
    )
    _need(len(head["classes"]) >= 2, "classes")
    _need(len(set(head["classes"])) == len(head["classes"]), "classes")
    _need(len(head["classes"]) == len(head["group_sizes"]), "groups")
    _need(all(size >= 1 for size in head["group_sizes"]), "group")
    _need(sum(head["group_sizes"]) == len(document["outputs"]), "groups")
    _need(head["tau"] > 0, "tau")
    _need(1 <= head["abstain_margin"] <= BOUND, "abstain_margin")
    if "set_margin" in head:
        _need(0 <= _members(head, set_margin="integer")["set_margin"] <= BOUND, "set_margin")
    if "limit" in head and document["version"] == 3:
        _need(1 <= _members(head, limit="integer")["limit"] <= 8, "limit")
    for net in document["outputs"]:
        if circuit.kinds[net] == "s":
            table = document["nodes"]["table"][net - document["num_inputs"]]
            _need(max(map(abs, table)) <= circuit.limit, "a score beyond the limit")


# Meaning


@dataclass(frozen=True)
class Decision:
    """What a circuit with a head says."""

    scores: list[int]
    chosen: int
    margin: int
    unknown: bool
    members: list[bool] | None


@dataclass(frozen=True)
class Circuit:
    """A netlist as the page describes it."""

    document: dict[str, Any]

    @property
    def features(self) -> list[dict[str, Any]]:
        return self.document["encoder"]["features"]

    @property
    def head(self) -> dict[str, Any] | None:
        return self.document["head"]

    @property
    def kinds(self) -> str:
        """The letter of each net."""
        if "gates" not in self.document:
            return self.document["kinds"]
        letter = {2: "b", 3: "t"}[self.document["valence"]]
        return letter * (self.document["num_inputs"] + len(self.document["gates"]["id"]))

    @property
    def limit(self) -> int:
        """The largest magnitude of an output of a circuit with a head."""
        return self.document["head"].get("limit", 1) if self.document["version"] == 3 else 1

    @property
    def missing(self) -> list[int]:
        """What each input is if its feature is missing."""
        missing = self.document["encoder"]["missing"]
        return missing if isinstance(missing, list) else [missing] * self.document["num_inputs"]

    def integers(self, values: list[float]) -> list[int | None]:
        """Turn the values of a sample into integers; None for a missing feature."""
        return [_integer(feature, x) for feature, x in zip(self.features, values, strict=True)]

    def inputs(self, integers: list[int | None]) -> list[int]:
        """Turn integers into the inputs of the circuit."""
        encoder = self.document["encoder"]
        trits = []
        for feature, low, high, missing in zip(
            encoder["feature"], encoder["low"], encoder["high"], self.missing, strict=True
        ):
            x = integers[feature]
            if x is None:
                trits.append(missing)
            elif x < low:
                trits.append(-1)
            else:
                trits.append(1 if x >= high else 0)
        return trits

    def outputs(self, trits: list[int]) -> list[int]:
        """Evaluate the gates one by one."""
        nets = list(trits)
        kinds = self.kinds
        for sources, table in zip(*self._nodes(), strict=True):
            row = 0
            for source in sources:
                values = VALUES[kinds[source]]
                row = row * len(values) + values.index(nets[source])
            nets.append(table[row])
        return [nets[net] for net in self.document["outputs"]]

    def _nodes(self) -> tuple[list[list[int]], list[list[int]]]:
        """Return what each gate reads, and its table."""
        if "gates" not in self.document:
            value = {sign: value for value, sign in SIGNS.items()}
            tables = self.document["nodes"]["table"]
            return self.document["nodes"]["sources"], [
                [value[sign] for sign in table] if isinstance(table, str) else table
                for table in tables
            ]
        q, gates = self.document["valence"], self.document["gates"]
        values = VALUES[{2: "b", 3: "t"}[q]]
        sources = [list(pair) for pair in zip(gates["a"], gates["b"], strict=True)]
        return sources, [
            [values[number // q**place % q] for place in range(q * q)] for number in gates["id"]
        ]

    def decide(self, outputs: list[int], abstain_margin: int | None = None) -> Decision:
        """Decide from the outputs; a port may have another abstention margin than the file."""
        assert self.head is not None
        rest, scores = list(outputs), []
        for size in self.head["group_sizes"]:
            scores.append(sum(rest[:size]))
            rest = rest[size:]
        best = max(scores)
        chosen = scores.index(best)
        margin = best - max(scores[:chosen] + scores[chosen + 1 :])
        least = self.head["abstain_margin"] if abstain_margin is None else abstain_margin
        members = None
        if "set_margin" in self.head:
            members = [score >= best - self.head["set_margin"] for score in scores]
        return Decision(scores, chosen, margin, margin < least or margin == 0, members)


def _integer(feature: dict[str, Any], value: float) -> int | None:
    if math.isnan(value):
        return None
    least, most = integers_of(feature)
    scaled = value * float(feature["scale"]) + float(feature["offset"])
    if "seen" in feature:
        first, last = feature["seen"]
        if scaled < first or scaled >= last + 1:
            return None
    if scaled < least:
        return least
    return most if scaled > most else math.floor(scaled)


# Hardware

Ports = dict[str, tuple[int, int]]
"""Width and value of each port."""


def input_ports(circuit: Circuit, integers: list[int | None]) -> Ports:
    """Pack a vector of features; what a missing one has is not zero, because it is ignored."""
    features = present = place = 0
    for index, (feature, x) in enumerate(zip(circuit.features, integers, strict=True)):
        mask = 2 ** feature["bits"] - 1
        features |= ((0x5A5A5A5A if x is None else x) & mask) << place
        present |= (x is not None) << index
        place += feature["bits"]
    return {"in_features": (place, features), "in_present": (len(integers), present)}


def trit_port(name: str, trits: list[int]) -> Ports:
    """Pack trits, two bits each."""
    code = {-1: 0b01, 0: 0b00, 1: 0b10}
    word = sum(code[trit] << 2 * index for index, trit in enumerate(trits))
    return {name: (2 * len(trits), word)}


def output_ports(circuit: Circuit, outputs: list[int], decision: Decision | None) -> Ports:
    """Pack what the hardware should answer."""
    if decision is None:
        return trit_port("out_trits", outputs)
    assert circuit.head is not None
    largest = circuit.limit * max(circuit.head["group_sizes"])
    bits = largest.bit_length() + 1
    scores = sum((score % 2**bits) << bits * index for index, score in enumerate(decision.scores))
    return {
        "out_class": (math.ceil(math.log2(len(decision.scores))), decision.chosen),
        "out_margin": ((2 * largest).bit_length(), decision.margin),
        "out_unknown": (1, int(decision.unknown)),
        "out_scores": (bits * len(decision.scores), scores),
    }


def bench(
    name: str,
    top: str,
    vectors: list[Ports],
    answers: list[Ports],
    margin: tuple[int, int] | None = None,
) -> str:
    """Return a module that drives a design and compares its answers, in Verilog-2001.

    It offers vectors and takes answers at random, resets once amid the vectors, and begins again.
    ``done`` rises some time after the last answer; ``faults`` counts wrong, missing, surplus and
    unsteady answers, and ``given`` answers. A margin is the width and the value of
    ``abstain_margin``, if the design has that port.
    """
    inputs, outputs = ({k: w for k, (w, _) in ports[0].items()} for ports in (vectors, answers))
    in_bits, out_bits = sum(inputs.values()), sum(outputs.values())
    pins = ["clk", "rst", "in_valid", "in_ready", "out_valid", "out_ready", *inputs, *outputs]
    connections = [f".{pin}({pin})" for pin in pins]
    if margin is not None:
        connections.append(f".abstain_margin({margin[0]}'d{margin[1]})")
    wires = [f"  wire [{width - 1}:0] {pin};" for pin, width in (inputs | outputs).items()]
    memory = [f"    vectors[{i}] = {in_bits}'h{_join(v):x};" for i, v in enumerate(vectors)]
    memory += [f"    answers[{i}] = {out_bits}'h{_join(v):x};" for i, v in enumerate(answers)]
    return _BENCH.substitute(
        name=name,
        in_bits=in_bits,
        out_bits=out_bits,
        count=len(vectors),
        third=len(vectors) // 3,
        wires="\n".join(wires),
        memory="\n".join(memory),
        inputs=", ".join(reversed(inputs)),
        outputs=", ".join(reversed(outputs)),
        instance=f"{top} dut({', '.join(connections)});",
    )


_BENCH = Template("""
module ${name}(
  input clk, output reg done, output reg [31:0] faults, output reg [31:0] given
);
  reg [${in_bits}-1:0] vectors [0:${count}-1];
  reg [${out_bits}-1:0] answers [0:${count}-1];
  reg [${out_bits}-1:0] held;
  reg rst, in_valid, out_ready, waits, again;
  reg [31:0] taken, state;
  wire in_ready, out_valid;
${wires}
  assign {${inputs}} = vectors[taken < ${count} ? taken : 0];
  wire [${out_bits}-1:0] answer = {${outputs}};
  wire takes = in_valid && in_ready;
  wire is_more = taken + takes < ${count};
  ${instance}
  initial begin
    done = 0; faults = 0; given = 0; rst = 1; in_valid = 0; out_ready = 0; waits = 0; again = 0;
    taken = 0; state = 32'hace1; held = 0;
${memory}
  end
  always @(posedge clk) begin
    state <= {state[30:0], state[31] ^ state[21] ^ state[1] ^ state[0]};
    if (rst) begin
      taken <= 0; given <= 0; waits <= 0; in_valid <= 0; out_ready <= 0; rst <= 0;
    end else begin
      // After a third of the vectors all that is inside must vanish.
      if (taken == ${third} && !again) begin
        rst <= 1;
        again <= 1;
      end
      // What is offered stays until it is taken. At times much is offered or taken, at times less.
      if (takes) taken <= taken + 1;
      in_valid <= (in_valid && !in_ready) || (is_more && (state[8] || state[3:0] == 0));
      out_ready <= state[15] ? state[7] : (state[14] || state[20:18] == 0);
      waits <= out_valid && !out_ready;
      held <= answer;
      if (waits && (!out_valid || held !== answer)) faults <= faults + 1;
      if (out_valid && out_ready) begin
        given <= given + 1;
        if (given >= taken || answer !== answers[given]) faults <= faults + 1;
      end
      // Some time after the last answer, for one too many to show.
      if (given == ${count} && state[9:4] == 5) done <= 1;
    end
  end
endmodule
""")


def _join(ports: Ports) -> int:
    word = place = 0
    for width, value in ports.values():
        assert 0 <= value < 2**width
        word |= value << place
        place += width
    return word

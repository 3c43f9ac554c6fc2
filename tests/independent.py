"""A second opinion on circuits, by an outsider.

Written from ``docs/netlist-format.md`` and ``docs/hardware.md`` alone, in plain Python, and sharing
no code with the package. Where it and the package disagree, one of the two or a page is wrong.
"""

import gzip
import json
import math
import random
from dataclasses import dataclass
from string import Template
from typing import Any

BOUND = 2**62 - 1


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
    return Circuit(_checked(document))


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
    return isinstance(value, {"object": dict, "truth": bool, "any": object}[kind])


def _is_finite(value: int) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _checked(document: Any) -> dict[str, Any]:
    _members(document, format="any", version="integer")
    _need(document["format"] == "trilut-netlist" and document["version"] in (1, 2), "version")
    _members(
        document,
        name="name",
        valence="integer",
        num_inputs="integer",
        encoder="object or null",
        gates="object",
        outputs="list of integer",
        head="object or null",
        provenance="object",
    )
    _need(document["valence"] in (2, 3), "valence")
    _need(1 <= document["num_inputs"] <= 2**31 - 1, "num_inputs")
    _check_nets(document)
    if document["encoder"] is not None:
        _check_encoder(document)
    if document["head"] is not None:
        _check_head(document)
    return document


def _check_nets(document: dict[str, Any]) -> None:
    lists = dict.fromkeys(("id", "a", "b"), "list of integer")
    gates = _members(document["gates"], **lists)
    _need(len(gates["id"]) == len(gates["a"]) == len(gates["b"]), "length of gates")
    ids = {2: 16, 3: 19_683}[document["valence"]]
    first = document["num_inputs"]
    for gate, (number, a, b) in enumerate(zip(gates["id"], gates["a"], gates["b"], strict=True)):
        _need(0 <= number < ids, "id")
        _need(0 <= a < first + gate and 0 <= b < first + gate, "net")
    _need(len(document["outputs"]) >= 1, "outputs")
    _need(all(0 <= net < first + len(gates["id"]) for net in document["outputs"]), "output")


def _check_encoder(document: dict[str, Any]) -> None:
    encoder = _members(
        document["encoder"],
        features="list of object",
        feature="list of integer",
        low="list of integer",
        high="list of integer",
        missing="integer",
    )
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
    _need(encoder["missing"] in (0, -1), "missing")
    if document["valence"] == 2:
        _need(encoder["missing"] == -1 and encoder["low"] == encoder["high"], "binary")


def _check_seen(feature: dict[str, Any]) -> None:
    seen = _members(feature, seen="list of integer")["seen"]
    least, most = _range(feature)
    _need(len(seen) == 2, "seen")
    _need(-(2**53) <= seen[0] <= seen[1] <= 2**53, "seen")
    _need(seen[0] <= most and seen[1] >= least, "seen")


def _range(feature: dict[str, Any]) -> tuple[int, int]:
    least = -(2 ** (feature["bits"] - 1)) if feature["signed"] else 0
    return least, least + 2 ** feature["bits"] - 1


def _check_head(document: dict[str, Any]) -> None:
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


# Meaning


@dataclass(frozen=True)
class Decision:
    """What a circuit with a head says."""

    scores: list[int]
    chosen: int
    margin: int
    unknown: bool


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

    def integers(self, values: list[float]) -> list[int | None]:
        """Turn the values of a sample into integers; None for a missing feature."""
        return [_integer(feature, x) for feature, x in zip(self.features, values, strict=True)]

    def inputs(self, integers: list[int | None]) -> list[int]:
        """Turn integers into the inputs of the circuit."""
        encoder = self.document["encoder"]
        trits = []
        for feature, low, high in zip(
            encoder["feature"], encoder["low"], encoder["high"], strict=True
        ):
            x = integers[feature]
            if x is None:
                trits.append(encoder["missing"])
            elif x < low:
                trits.append(-1)
            else:
                trits.append(1 if x >= high else 0)
        return trits

    def outputs(self, trits: list[int]) -> list[int]:
        """Evaluate the gates one by one."""
        q = self.document["valence"]
        level = {-1: 0, 1: q - 1} if q == 2 else {-1: 0, 0: 1, 1: 2}
        value = {number: truth for truth, number in level.items()}
        nets = list(trits)
        gates = self.document["gates"]
        for number, a, b in zip(gates["id"], gates["a"], gates["b"], strict=True):
            position = level[nets[a]] * q + level[nets[b]]
            nets.append(value[number // q**position % q])
        return [nets[net] for net in self.document["outputs"]]

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
        return Decision(scores, chosen, margin, margin < least or margin == 0)


def _integer(feature: dict[str, Any], value: float) -> int | None:
    if math.isnan(value):
        return None
    least, most = _range(feature)
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
    largest = max(circuit.head["group_sizes"])
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


# Examples


def example(seed: int, *, small: bool = False) -> dict[str, Any]:
    """Return a random document of any shape that the format allows."""
    rng = random.Random(seed)
    valence = rng.choice([2, 3, 3])
    num_inputs = rng.randint(1, 12 if small else 40)
    num_gates = rng.choice([0, 1, rng.randint(1, 30), rng.randint(1, 60 if small else 200)])
    nets = num_inputs + num_gates
    num_classes = rng.choice([0, 2, 2, 3, rng.randint(4, 12), rng.randint(2, 20 if small else 100)])
    sizes = [rng.choice([1, 1, 2, rng.randint(1, 9)]) for _ in range(num_classes)]
    document = {
        "format": "trilut-netlist",
        "version": 1,
        "name": _text(rng),
        "valence": valence,
        "num_inputs": num_inputs,
        "encoder": rng.choice([None, _encoder(rng, num_inputs, valence)]),
        "gates": {
            "id": [rng.randrange({2: 16, 3: 19_683}[valence]) for _ in range(num_gates)],
            "a": [_earlier(rng, num_inputs + gate) for gate in range(num_gates)],
            "b": [_earlier(rng, num_inputs + gate) for gate in range(num_gates)],
        },
        "outputs": [rng.randrange(nets) for _ in range(sum(sizes) or rng.randint(1, 20))],
        "head": _head(rng, sizes) if sizes else None,
        "provenance": {"seed": seed, "text": _text(rng)},
        "unknown member": [1, {"nested": None}],
    }
    _add_seen(random.Random(seed + 1), document)
    return document


def _add_seen(rng: random.Random, document: dict[str, Any]) -> None:
    """Let some documents be of version 2, and some of their features not take every integer."""
    document["version"] = rng.choice([1, 2])
    for feature in document["encoder"]["features"] if document["encoder"] else ():
        if rng.random() < 0.3:
            least, most = _range(feature)
            middle = rng.randint(least, most)
            near = rng.choice([0, 1, 2**20, 2**32])
            feature["seen"] = [middle - rng.randint(0, near), middle + rng.randint(0, near)]


def _earlier(rng: random.Random, nets: int) -> int:
    """Return a net below a number: any, or one of the last."""
    return rng.randrange(nets) if rng.random() < 0.5 else nets - 1 - rng.randrange(min(nets, 5))


def _text(rng: random.Random) -> str:
    alphabet = 'abc xyz09_\\"/*;`$\n\t\x00\x1b\x7fé漢😀'
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(0, 12)))


def _encoder(rng: random.Random, num_inputs: int, valence: int) -> dict[str, Any]:
    features = [
        {
            "name": _text(rng),
            "bits": rng.choice([1, 2, 8, 16, 31, 32, rng.randint(1, 32)]),
            "signed": rng.random() < 0.5,
            "scale": rng.choice([1, 1.0, -1.0, 0.1, 255.0, -3.7, 1e-300, 1e300]),
            "offset": rng.choice([0, 0.5, -0.5, 128, 1e10, -1e-9]),
        }
        for _ in range(rng.randint(1, num_inputs + 2))
    ]
    encoder: dict[str, Any] = {
        "features": features,
        "feature": [rng.randrange(len(features)) for _ in range(num_inputs)],
        "low": [],
        "high": [],
        "missing": -1 if valence == 2 else rng.choice([0, 0, -1]),
    }
    for index in encoder["feature"]:
        low, high = sorted(_threshold(rng, features[index]) for _ in range(2))
        encoder["low"].append(low)
        encoder["high"].append(low if valence == 2 else high)
    return encoder


def _threshold(rng: random.Random, feature: dict[str, Any]) -> int:
    least = -(2 ** (feature["bits"] - 1)) if feature["signed"] else 0
    most = least + 2 ** feature["bits"] - 1
    edges = [least, least + 1, 0, most - 1, most, most + 1]
    far = [-BOUND, BOUND, -(2**32), 2**32, 2**31, -(2**31) - 1]
    return rng.choice([*edges, rng.randint(least, most), rng.randint(least, most), rng.choice(far)])


def _head(rng: random.Random, sizes: list[int]) -> dict[str, Any]:
    most = 2 * max(sizes)
    return {
        "classes": [f"{_text(rng)}{index}" for index in range(len(sizes))],
        "group_sizes": sizes,
        "tau": rng.choice([1, 0.5, 1e-300, 30.0]),
        "abstain_margin": rng.choice([1, 1, 2, 3, most, most + 1, 2**31, BOUND]),
    }


def sample(circuit: Circuit, rng: random.Random) -> list[float]:
    """Return values of the features, or trits if there is no encoder."""
    if circuit.document["encoder"] is None:
        truth = [-1, 1] if circuit.document["valence"] == 2 else [-1, 0, 1]
        return [rng.choice(truth) for _ in range(circuit.document["num_inputs"])]
    return [_value(circuit, index, rng) for index in range(len(circuit.features))]


def _value(circuit: Circuit, index: int, rng: random.Random) -> float:
    """Return a value of a feature: near a threshold, anywhere, far away, or missing."""
    feature = circuit.features[index]
    kind = rng.random()
    if kind < 0.15:
        return math.nan
    if kind < 0.2:
        return rng.choice([math.inf, -math.inf, 0.0, -0.0, 1e308, 5e-324])
    encoder = circuit.document["encoder"]
    readers = [trit for trit, read in enumerate(encoder["feature"]) if read == index]
    thresholds = [encoder[bound][trit] for trit in readers for bound in ("low", "high")]
    least = -(2 ** (feature["bits"] - 1)) if feature["signed"] else 0
    anywhere = rng.randint(least, least + 2 ** feature["bits"] - 1)
    wanted = rng.choice(thresholds) + rng.randint(-1, 1) if thresholds and kind < 0.6 else anywhere
    return (wanted + rng.random() - feature["offset"]) / feature["scale"]

"""Random files of every shape that the format allows, for an outsider and the package to read."""

import math
import random
from collections.abc import Sequence
from typing import Any

from independent import BOUND, SIGNS, VALUES, WIRES, Circuit, integers_of


def example(seed: int, *, small: bool = False) -> dict[str, Any]:
    """Return a random document of two-input gates."""
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
        "encoder": rng.choice([None, _encoder(rng, "bt"[valence - 2] * num_inputs)]),
        "gates": {
            "id": [rng.randrange({2: 16, 3: 19_683}[valence]) for _ in range(num_gates)],
            "a": [_earlier(rng, range(num_inputs + gate)) for gate in range(num_gates)],
            "b": [_earlier(rng, range(num_inputs + gate)) for gate in range(num_gates)],
        },
        "outputs": [rng.randrange(nets) for _ in range(sum(sizes) or rng.randint(1, 20))],
        "head": _head(rng, sizes) if sizes else None,
        "provenance": {"seed": seed, "text": _text(rng)},
        "unknown member": [1, {"nested": None}],
    }
    _add_seen(random.Random(seed + 1), document)
    return document


def example_of_nodes(seed: int, *, small: bool = False) -> dict[str, Any]:
    """Return a random document of bits, trits and scores, and of gates of one to six wires."""
    rng = random.Random(seed)
    document = example(seed, small=small)
    num_inputs, num_gates = document["num_inputs"], len(document["gates"]["id"])
    for member in ("valence", "gates"):
        del document[member]
    head = document["head"]
    limit = 1
    if head is not None and rng.random() < 0.7:
        limit = head["limit"] = rng.randint(1, 8)
        head["abstain_margin"] = rng.choice([head["abstain_margin"], limit * 2, limit * 3])
    letters = rng.choice(["bt", "bt", "b", "t"]) + rng.choice(["", "s"]) * (head is not None)
    kinds = "".join(rng.choice(letters[:2].strip("s")) for _ in range(num_inputs))
    sources, tables = [], []
    for _ in range(num_gates):
        sources.append(_some_wires(rng, kinds))
        kind = rng.choice(letters)
        values = [value for value in VALUES[kind] if abs(value) <= limit]
        rows = range(math.prod(len(VALUES[kinds[source]]) for source in sources[-1]))
        table = [rng.choice(values) for _ in rows]
        tables.append(table if kind == "s" else "".join(SIGNS[value] for value in table))
        kinds += kind
    document["version"] = 3
    document["kinds"] = kinds
    document["nodes"] = {"sources": sources, "table": tables}
    if document["encoder"] is not None:
        document["encoder"] = _encoder(rng, kinds[:num_inputs])
        document["encoder"]["missing"] = _mixed_missing(rng, kinds[:num_inputs])
    return document


def _some_wires(rng: random.Random, kinds: str) -> list[int]:
    """Return nets of at most so many wires, from one to six, that a gate may read."""
    left, sources = rng.randint(1, 6), []
    while True:
        nets = [net for net, kind in enumerate(kinds) if WIRES.get(kind, left + 1) <= left]
        if not nets:
            # A circuit of trits alone has no gate of one wire.
            return sources or [0]
        sources.append(_earlier(rng, nets))
        left -= WIRES[kinds[sources[-1]]]


def _mixed_missing(rng: random.Random, kinds: str) -> list[int] | int:
    missing = [-1 if kind == "b" else rng.choice([0, -1]) for kind in kinds]
    return missing[0] if len(set(missing)) == 1 and rng.random() < 0.5 else missing


def _add_seen(rng: random.Random, document: dict[str, Any]) -> None:
    """Let some documents be of version 2, and some of their features not take every integer."""
    document["version"] = rng.choice([1, 2])
    for feature in document["encoder"]["features"] if document["encoder"] else ():
        if rng.random() < 0.3:
            least, most = integers_of(feature)
            middle = rng.randint(least, most)
            near = rng.choice([0, 1, 2**20, 2**32])
            feature["seen"] = [middle - rng.randint(0, near), middle + rng.randint(0, near)]


def _earlier(rng: random.Random, nets: Sequence[int]) -> int:
    """Return one of some nets: any, or one of the last."""
    return rng.choice(nets if rng.random() < 0.5 else nets[-5:])


def _text(rng: random.Random) -> str:
    alphabet = 'abc xyz09_\\"/*;`$\n\t\x00\x1b\x7fé漢😀'
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(0, 12)))


def _encoder(rng: random.Random, kinds: str) -> dict[str, Any]:
    features = [
        {
            "name": _text(rng),
            "bits": rng.choice([1, 2, 8, 16, 31, 32, rng.randint(1, 32)]),
            "signed": rng.random() < 0.5,
            "scale": rng.choice([1, 1.0, -1.0, 0.1, 255.0, -3.7, 1e-300, 1e300]),
            "offset": rng.choice([0, 0.5, -0.5, 128, 1e10, -1e-9]),
        }
        for _ in range(rng.randint(1, len(kinds) + 2))
    ]
    encoder: dict[str, Any] = {
        "features": features,
        "feature": [rng.randrange(len(features)) for _ in kinds],
        "low": [],
        "high": [],
        "missing": -1 if "b" in kinds else rng.choice([0, 0, -1]),
    }
    for index, kind in zip(encoder["feature"], kinds, strict=True):
        low, high = sorted(_threshold(rng, features[index]) for _ in range(2))
        encoder["low"].append(low)
        encoder["high"].append(low if kind == "b" else high)
    return encoder


def _threshold(rng: random.Random, feature: dict[str, Any]) -> int:
    least, most = integers_of(feature)
    edges = [least, least + 1, 0, most - 1, most, most + 1]
    far = [-BOUND, BOUND, -(2**32), 2**32, 2**31, -(2**31) - 1]
    return rng.choice([*edges, rng.randint(least, most), rng.randint(least, most), rng.choice(far)])


def _head(rng: random.Random, sizes: list[int]) -> dict[str, Any]:
    most = 2 * max(sizes)
    head = {
        "classes": [f"{_text(rng)}{index}" for index in range(len(sizes))],
        "group_sizes": sizes,
        "tau": rng.choice([1, 0.5, 1e-300, 30.0]),
        "abstain_margin": rng.choice([1, 1, 2, 3, most, most + 1, 2**31, BOUND]),
    }
    if rng.random() < 0.3:
        head["set_margin"] = rng.choice([0, 1, 2, most, BOUND])
    return head


def sample(circuit: Circuit, rng: random.Random) -> list[float]:
    """Return values of the features, or trits if there is no encoder."""
    if circuit.document["encoder"] is None:
        inputs = circuit.kinds[: circuit.document["num_inputs"]]
        return [rng.choice(VALUES[kind]) for kind in inputs]
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
    anywhere = rng.randint(*integers_of(feature))
    wanted = rng.choice(thresholds) + rng.randint(-1, 1) if thresholds and kind < 0.6 else anywhere
    return (wanted + rng.random() - feature["offset"]) / feature["scale"]

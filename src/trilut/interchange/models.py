"""Networks of difflogic and torchlogix: dense layers of look-up tables, then sums by class.

A layer is what has a tensor ``weights`` (difflogic) or ``weight`` (torchlogix), and the nets that
its gates read, ``indices`` [slot, gate]. Layers stand in the order of their numbers. What the
tables are is chosen as the project itself does it outside of training:

- 16 weights for a gate of two inputs: the function with the largest one; bit 3 − (2a + b) of its
  number is its value on (a, b).
- *warp*, a weight for each product of inputs as ±1 (TRUE is −1): TRUE where their sum is negative.
- *light*, a weight for each row: TRUE where it is positive.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.head import Head
from trilut.circuit.kinds import MAX_WIRES, Kind
from trilut.circuit.limits import MAX_BYTES
from trilut.circuit.netlist import Netlist
from trilut.errors import FormatError
from trilut.files import read_bytes
from trilut.interchange.logic import bit_encoder
from trilut.interchange.tensors import Object, read_pytorch, read_safetensors

__all__ = ["read_difflogic", "read_torchlogix"]

Tensors = dict[str, NDArray[Any]]

_WEIGHTS = {"weights": "difflogic", "weight": "torchlogix"}
# The last part of a class's name, in a file that holds the whole module.
_PARAMETRIZATIONS = {
    "RawLUTParametrization": "raw",
    "WarpLUTParametrization": "warp",
    "LightLUTParametrization": "light",
}


@dataclass(slots=True)
class _Model:
    """What a file says of a network.

    Parameters
    ----------
    tensors : dict
        Arrays by the names that they have in a state dict.
    parametrization : str
        ``raw``, ``warp`` or ``light``; empty if the file does not say.
    num_inputs, num_classes : int
        0 if the file does not say.
    """

    tensors: Tensors = field(default_factory=dict)
    parametrization: str = ""
    num_inputs: int = 0
    num_classes: int = 0
    tau: float = 1.0


def read_difflogic(path: Path) -> Netlist:
    """Read a network of difflogic: see :func:`_read`."""
    return _read(path, "difflogic")


def read_torchlogix(path: Path) -> Netlist:
    """Read a network of torchlogix: see :func:`_read`."""
    return _read(path, "torchlogix")


def _read(path: Path, project: str) -> Netlist:
    """Read a network from a file of safetensors or of ``torch.save``, of a module or a state dict.

    Raises
    ------
    FormatError
        If the file is no such network, or does not say enough.
    """
    content = read_bytes(path, MAX_BYTES)
    title = str(path)
    if path.suffix == ".safetensors":
        tensors, about = read_safetensors(content, title)
        model = _Model(tensors, about.get("parametrization", ""))
    else:
        model = _of_pytorch(read_pytorch(content, title))
    layers = list(_layers(model, title, project))
    if not layers:
        raise FormatError(
            f"{title!r} has no layer of {project}, expected tensors named NUMBER."
            f"{next(key for key, name in _WEIGHTS.items() if name == project)}"
        )
    return _netlist(model, layers, path)


def _of_pytorch(saved: Any) -> _Model:
    """Return what a module or a state dict says."""
    model = _Model()
    if isinstance(saved, Object):
        _walk(saved, "", model)
    elif isinstance(saved, dict):
        model.tensors = {
            str(name): tensor for name, tensor in saved.items() if isinstance(tensor, np.ndarray)
        }
        said = saved.get("parametrization", "")
        model.parametrization = said if isinstance(said, str) else ""
    return model


def _walk(module: Object, prefix: str, model: _Model) -> None:
    """Collect the tensors of a module and of those inside it, and what their attributes say."""
    attributes = module.attributes
    name = module.kind.rpartition(".")[2]
    model.parametrization = _PARAMETRIZATIONS.get(name, model.parametrization)
    if name == "GroupSum" and isinstance(attributes.get("k"), int):
        model.num_classes = attributes["k"]
        model.tau = float(attributes.get("tau", 1.0))
    if not model.num_inputs and isinstance(attributes.get("in_dim"), int):
        model.num_inputs = attributes["in_dim"]
    for kind in ("_parameters", "_buffers"):
        model.tensors |= {
            f"{prefix}{key}": tensor
            for key, tensor in _dictionary(attributes.get(kind)).items()
            if isinstance(tensor, np.ndarray)
        }
    # difflogic's wires are no buffer.
    indices = attributes.get("indices")
    if isinstance(indices, tuple) and all(isinstance(each, np.ndarray) for each in indices):
        model.tensors[f"{prefix}indices"] = np.stack(indices)
    for key, inner in _dictionary(attributes.get("_modules")).items():
        # A file can make a module a part of itself.
        if isinstance(inner, Object) and prefix.count(".") < 20:
            _walk(inner, f"{prefix}{key}.", model)


def _dictionary(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    sources: NDArray[np.int64]  # [gate, slot], outputs of the layer before
    table: NDArray[np.int8]  # [gate, row]


def _layers(model: _Model, title: str, project: str) -> Iterator[_Layer]:
    suffix = next(key for key, name in _WEIGHTS.items() if name == project)
    names = [name for name in model.tensors if name.rpartition(".")[2] == suffix]
    for name in sorted(names, key=_natural):
        prefix = name.removesuffix(suffix)
        if f"{prefix}indices" in model.tensors and prefix.endswith("connections."):
            # The weights of learned wires.
            continue
        yield _layer(
            model, prefix, model.tensors[name], f"Layer {prefix.rstrip('.')!r} of {title!r}"
        )


def _natural(name: str) -> list[tuple[int, str]]:
    """Return what to sort a name by, its numbers as numbers."""
    return [
        (int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)
    ]


def _layer(model: _Model, prefix: str, weights: NDArray[Any], title: str) -> _Layer:
    indices = model.tensors.get(f"{prefix}indices")
    if indices is None:
        indices = model.tensors.get(f"{prefix}connections.indices")
    if indices is None:
        raise FormatError(
            f"{title} has no tensor 'indices', so the file does not say what its gates read; "
            "docs/interchange.md says how to save it"
        )
    chosen = model.tensors.get(f"{prefix}connections.weights")
    if chosen is not None and indices.ndim == 3 and chosen.shape == indices.shape:
        indices = np.take_along_axis(indices, chosen.argmax(axis=0)[None], axis=0)[0]
    is_dense = weights.ndim == 2 and indices.ndim == 2 and indices.shape[1] == len(weights)
    if not is_dense or not np.issubdtype(indices.dtype, np.integer):
        raise FormatError(
            f"{title} has weights of shape {weights.shape} and indices of {indices.shape}, "
            "expected a dense layer: [gate, weight] and [slot, gate]"
        )
    rank = len(indices)
    if not 1 <= rank <= MAX_WIRES:
        raise FormatError(f"{title} has gates of {rank} inputs, expected 1…{MAX_WIRES}")
    is_true = _is_true(weights.astype(np.float64), rank, model.parametrization, title)
    return _Layer(indices.T.astype(np.int64), 2 * is_true.astype(np.int8) - 1)


def _is_true(
    weights: NDArray[np.float64], rank: int, parametrization: str, title: str
) -> NDArray[np.bool_]:
    """Return the truth tables [gate, row] of a layer, the last input changing fastest."""
    rows, columns = 1 << rank, weights.shape[1]
    if not np.isfinite(weights).all():
        raise FormatError(f"{title} has weights that are not finite")
    if rank == 2 and columns == 16:
        bits = 3 - np.arange(4)
        raw: NDArray[np.bool_] = (weights.argmax(axis=1)[:, None] >> bits & 1).astype(np.bool_)
        return raw
    if columns != rows:
        raise FormatError(f"{title} has {columns} weights for a gate of {rank} inputs")
    if parametrization == "light":
        return weights > 0
    if parametrization == "warp":
        products = np.arange(rows)
        odd = np.bitwise_count(products[:, None] & products[None, :]) & 1
        return weights @ (1.0 - 2.0 * odd) < 0
    raise FormatError(
        f"{title} has {columns} weights a gate, which are those of 'warp' or of 'light', and the "
        "file does not say which; docs/interchange.md says how to save it"
    )


def _netlist(model: _Model, layers: list[_Layer], path: Path) -> Netlist:
    num_inputs = model.num_inputs or int(layers[0].sources.max(initial=0)) + 1
    before, start, sources, tables = num_inputs, 0, [], []
    width = max(layer.sources.shape[1] for layer in layers)
    num_rows = max(layer.table.shape[1] for layer in layers)
    for number, layer in enumerate(layers):
        if layer.sources.size and not 0 <= layer.sources.min() <= layer.sources.max() < before:
            raise FormatError(
                f"Layer {number} of {str(path)!r} reads {layer.sources.max()}, but there are "
                f"{before} before it"
            )
        spare = ((0, 0), (0, width - layer.sources.shape[1]))
        sources.append(np.pad(start + layer.sources, spare, constant_values=-1))
        tables.append(np.pad(layer.table, ((0, 0), (0, num_rows - layer.table.shape[1]))))
        start += before
        before = len(layer.table)
    return Netlist(
        num_inputs,
        np.concatenate(tables),
        np.concatenate(sources),
        np.arange(start, start + before),
        np.full(start + before, Kind.BIT, dtype=np.int8),
        encoder=bit_encoder([f"input {number}" for number in range(num_inputs)]),
        head=_head(model, before, path),
        name=path.stem,
    )


def _head(model: _Model, num_outputs: int, path: Path) -> Head | None:
    count = model.num_classes
    if count < 2:
        return None
    if num_outputs % count:
        raise FormatError(
            f"{str(path)!r} has {num_outputs} outputs for {count} classes, expected as many of each"
        )
    return Head(tuple(map(str, range(count))), (num_outputs // count,) * count, tau=model.tau)

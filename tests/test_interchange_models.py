"""Networks of other projects, as tests/interchange/make.py saved them, beside their own answers."""

import io
import json
import os
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from commandline import fails

from trilut import load, sim
from trilut.cli import main
from trilut.errors import FormatError
from trilut.interchange import import_netlist
from trilut.interchange.tensors import Object, read_pytorch, read_safetensors

HERE = Path(__file__).parent / "interchange"
MODELS = sorted(path.stem for path in HERE.glob("*.pt"))


@pytest.fixture(scope="module")
def answers():
    with np.load(HERE / "answers.npz") as arrays:
        return dict(arrays)


def check(netlist, answers, name):
    samples = answers[f"{name}.x"].astype(np.float64)
    decisions = sim.classify(netlist, samples, engine="reference")
    # Theirs count what is TRUE, ours are one more for TRUE and one less for FALSE.
    size = netlist.head.group_sizes[0]
    assert np.array_equal(decisions.scores, 2 * answers[f"{name}.sums"] - size)


def test_there_are_models_of_both():
    assert {name.partition("_")[0] for name in MODELS} == {"difflogic", "torchlogix"}
    assert len(MODELS) == 7


@pytest.mark.parametrize("name", MODELS)
def test_sums_are_those_of_the_project(name, answers):
    num_classes = 5 if name.endswith("state") else None
    netlist = import_netlist(HERE / f"{name}.pt", name.partition("_")[0], num_classes=num_classes)
    check(netlist, answers, name)


def safetensors(tensors, **about):
    names = {np.dtype("f4"): "F32", np.dtype("i8"): "I64"}
    header, data = {"__metadata__": about} if about else {}, b""
    for name, tensor in tensors.items():
        end = len(data) + tensor.nbytes
        header[name] = {
            "dtype": names[tensor.dtype], "shape": tensor.shape, "data_offsets": [len(data), end]
        }  # fmt: skip
        data += tensor.tobytes()
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def state(name):
    return read_pytorch((HERE / f"{name}.pt").read_bytes(), name)


def test_safetensors(tmp_path, answers):
    # Layers stand in the order of their numbers, whatever the file has first.
    tensors = {f"1{key}": tensor for key, tensor in reversed(state("difflogic_state").items())}
    tensors = {key.replace("10.", "9."): tensor for key, tensor in tensors.items()}
    path = tmp_path / "net.safetensors"
    path.write_bytes(safetensors(tensors))
    netlist = import_netlist(path, "difflogic", num_classes=5)
    check(netlist, answers, "difflogic_state")


def test_safetensors_that_say_how_tables_are_made(tmp_path):
    rng = np.random.default_rng(0)
    tensors = {
        "0.weight": rng.normal(size=(6, 8)).astype(np.float32),
        "0.connections.indices": rng.integers(0, 5, (3, 6)),
    }
    path = tmp_path / "net.safetensors"
    path.write_bytes(safetensors(tensors, parametrization="light"))
    netlist = import_netlist(path, "torchlogix")
    assert np.array_equal(netlist.table == 1, tensors["0.weight"] > 0)
    path.write_bytes(safetensors(tensors))
    with pytest.raises(FormatError) as caught:
        import_netlist(path, "torchlogix")
    assert str(caught.value) == (
        f"Layer '0' of {str(path)!r} has 8 weights a gate, which are those of 'warp' or of "
        "'light', and the file does not say which; docs/interchange.md says how to save it"
    )


def archive(program, **members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("net/data.pkl", program)
        for name, data in members.items():
            file.writestr(f"net/data/{name}", data)
    return content.getvalue()


class Evil:
    def __reduce__(self):
        return os.mkdir, ("made",)


def test_nothing_of_a_pickle_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = pickle.dumps([Evil(), {"weights": Evil()}], protocol=2)
    evil, inner = read_pytorch(archive(program), "net.pt")
    assert isinstance(evil, Object)
    assert evil.kind == f"{os.mkdir.__module__}.mkdir"
    assert isinstance(inner["weights"], Object)
    (tmp_path / "net.pt").write_bytes(archive(program))
    with pytest.raises(
        FormatError,
        match=r"^'net.pt' has no layer of difflogic, expected tensors named NUMBER.weights$",
    ):
        import_netlist("net.pt", "difflogic")
    assert [path.name for path in tmp_path.iterdir()] == ["net.pt"]


@pytest.mark.parametrize(
    "program",
    [
        b"",
        b"\x80\x02.",
        b"\x80\x02]q\x00",
        b"\x80\x02h\x05.",
        b"\x80\x02(I1\n.",
        b"\x80\x02u.",
        pickle.dumps({1: "x"}, protocol=2)[:-3],
    ],
)
def test_damaged_pickles(program):
    with pytest.raises(
        FormatError, match=r"^'net.pt' is not a file of torch.save that can be read"
    ):
        read_pytorch(archive(program), "net.pt")


def test_tensors_that_lie_outside_of_their_storage():
    good = (HERE / "difflogic_state.pt").read_bytes()
    with zipfile.ZipFile(io.BytesIO(good)) as file:
        (name,) = (name for name in file.namelist() if name.endswith("data.pkl"))
        program = file.read(name)
    wrong = archive(program, **{str(number): b"\x00" * 4 for number in range(6)})
    with pytest.raises(
        FormatError,
        match=r"^'net.pt' is not a file of torch.save that can be read: "
        r"a tensor lies outside of its storage$",
    ):
        read_pytorch(wrong, "net.pt")


@pytest.mark.parametrize("cut", [0, 5, 30, -1])
def test_damaged_safetensors(cut):
    content = safetensors({"0.weights": np.zeros((2, 16), dtype=np.float32)})[:cut]
    with pytest.raises(
        FormatError, match=r"^'net.safetensors' is not a complete file of safetensors$|JSON"
    ):
        read_safetensors(content, "net.safetensors")


def changed(tmp_path, **tensors):
    path = tmp_path / "net.safetensors"
    old = {key: value for key, value in state("difflogic_state").items() if key not in tensors}
    path.write_bytes(safetensors(old | {k: v for k, v in tensors.items() if v is not None}))
    with pytest.raises(FormatError) as caught:
        import_netlist(path, "difflogic", num_classes=5)
    return str(caught.value).replace(repr(str(path)), "NET")


def test_wires_that_are_not_saved(tmp_path):
    assert changed(tmp_path, **{"1.indices": None}) == (
        "Layer '1' of NET has no tensor 'indices', so the file does not say what its gates read; "
        "docs/interchange.md says how to save it"
    )


def test_layers_that_are_not_dense(tmp_path):
    wrong = np.zeros((2, 3, 16), dtype=np.float32)
    assert changed(tmp_path, **{"1.weights": wrong}) == (
        "Layer '1' of NET has weights of shape (2, 3, 16) and indices of (2, 18), "
        "expected a dense layer: [gate, weight] and [slot, gate]"
    )


def test_layers_that_read_what_is_not_there(tmp_path):
    assert changed(tmp_path, **{"1.indices": np.full((2, 18), 20)}) == (
        "Layer 1 of NET reads 20, but there are 20 before it"
    )


def test_weights_that_are_no_numbers(tmp_path):
    wrong = np.full((18, 16), np.nan, dtype=np.float32)
    assert changed(tmp_path, **{"1.weights": wrong}) == (
        "Layer '1' of NET has weights that are not finite"
    )


def test_command(tmp_path, capsys):
    model, net = HERE / "difflogic_module.pt", tmp_path / "net.trilut"
    assert main(["import", str(model), "--format", "difflogic", "-o", str(net), "--json"]) == 0
    assert '"classes": 5' in capsys.readouterr().out
    assert load(net).num_gates == 53
    assert fails(capsys, "import", model, "-o", net) == (
        f"Cannot tell the format of {str(model)!r} by its name; say which: "
        "aiger, blif, difflogic, torchlogix"
    )
    assert fails(capsys, "import", model, "--format=difflogic", "--classes=3", "-o", net) == (
        f"{str(model)!r} says itself that it has 5 classes"
    )
    state_dict = HERE / "difflogic_state.pt"
    assert fails(capsys, "import", state_dict, "--format=difflogic", "--classes=4", "-o", net) == (
        f"{str(state_dict)!r} has 15 outputs for 4 classes, expected as many of each"
    )
    assert main(["import", str(model)]) == 2
    assert main(["import", "--list"]) == 0

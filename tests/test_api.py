import importlib
import inspect
import pkgutil

import numpy as np
import pytest
from circuits import random_netlist

import trilut
import trilut.app

STAGES = (
    *(
        "circuit",
        "data",
        "training",
        "hdl",
        "sim",
        "measure",
        "synth",
        "verify",
        "boards",
        "report",
    ),
    *(f"app.{module.name}" for module in pkgutil.iter_modules(trilut.app.__path__)),
)


def public_functions():
    for stage in STAGES:
        module = importlib.import_module(f"trilut.{stage}")
        for name in getattr(module, "__all__", ()):
            member = getattr(module, name)
            if inspect.isfunction(member):
                yield f"{stage}.{name}", inspect.signature(member)


def test_paths_may_be_texts():
    annotations = {
        f"{name}({parameter.name})": str(parameter.annotation)
        for name, signature in public_functions()
        for parameter in signature.parameters.values()
        if "Path" in str(parameter.annotation)
    }
    assert len(annotations) > 40
    assert [where for where, kind in annotations.items() if "str" not in kind] == []


def test_every_name_is_there_and_shown():
    assert set(trilut.__all__) <= set(dir(trilut))
    for name in trilut.__all__:
        assert getattr(trilut, name) is not None


def test_netlist_is_saved_by_a_text_and_shown_in_a_line(tmp_path):
    netlist = random_netlist(
        0, num_inputs=6, num_gates=12, num_outputs=4, num_classes=2, with_encoder=True, name="some"
    )
    netlist.save(str(tmp_path / "net.trilut.gz"))
    same = trilut.load(str(tmp_path / "net.trilut.gz"))
    np.testing.assert_array_equal(same.table, netlist.table)
    features = len(netlist.encoder.features)
    assert repr(same) == (
        f"<Netlist 'some': 12 gates in {netlist.depth} levels, 6 inputs, 4 outputs, "
        f"{features} features, 2 classes>"
    )


def test_dataset_by_a_path(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,class\n" + "".join(f"{n / 7},{n % 2}\n" for n in range(20)))
    assert trilut.load_dataset(path).feature_names == ("a",)


def test_name_that_there_is_not():
    with pytest.raises(AttributeError, match=r"^module 'trilut' has no attribute 'fit'$"):
        trilut.fit  # noqa: B018

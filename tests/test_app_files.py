import numpy as np
import pytest

from trilut import Encoder, Feature, Head, Netlist, ToolError, save
from trilut.app.optimize import optimize_file
from trilut.app.verify import verify_file


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 16, (60, 3))
    lines = [f"{a},{b},{c},{'high' if a + c > 15 else 'low'}" for a, b, c in rows.tolist()]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["a,b,c,label", *lines, ""]))
    return path


@pytest.fixture
def net_file(table, tmp_path):
    # The column b is in the table, but no feature of the circuit.
    encoder = Encoder((Feature("a", bits=4), Feature("c", bits=4)), [0, 1], [7, 7], [9, 9])
    net = Netlist.of_gates(
        2,
        [[1, 1, 0, 1, 0, -1, 0, -1, -1], [-1, -1, 0, -1, 0, 1, 0, 1, 1]],
        [0, 0],
        [1, 1],
        [3, 2],
        encoder=encoder,
        head=Head(("high", "low"), (1, 1)),
        name="own",
        provenance={"data": {"name": f"{table}:label=label", "seed": 0}},
    )
    save(net, tmp_path / "own.trilut")
    return tmp_path / "own.trilut"


@pytest.fixture
def driven(monkeypatch):
    """What verification would have been asked for."""
    asked = {}

    def verify(netlist, options, **settings):
        asked.update(settings)
        raise ToolError("Enough")

    monkeypatch.setattr("trilut.verify.verify", verify)
    return asked


@pytest.mark.parametrize("options", [{"lossy": True}, {"feature_bits": "auto"}])
def test_a_column_that_the_netlist_does_not_know_is_left_out(net_file, tmp_path, options):
    facts = optimize_file(net_file, tmp_path / "new.trilut", **options).facts
    assert facts["accuracy_before"] == 0.75
    assert facts["accuracy_after"] == 0.75


def test_samples_have_the_features_of_the_netlist(net_file, driven):
    with pytest.raises(ToolError, match=r"^Enough$"):
        verify_file(net_file)
    assert driven["samples"].shape[1] == 2


def test_without_its_data_a_netlist_is_verified_all_the_same(net_file, table, driven, capsys):
    table.unlink()
    with pytest.raises(ToolError, match=r"^Enough$"):
        verify_file(net_file)
    assert driven["samples"] is None
    assert "No samples of a data set are driven: Cannot read" in capsys.readouterr().err


def test_data_that_were_asked_for_are_missed(net_file, table, driven):
    table.unlink()
    with pytest.raises(Exception, match=f"^Cannot read '{table}'"):
        verify_file(net_file, data=f"{table}:label=label")
    assert not driven

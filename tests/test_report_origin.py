import shlex

import pytest

from trilut.cli import main
from trilut.report.origin import origin_rows, training_command


def test_command_trains_the_same_netlist_again(tmp_path, capsys):
    first = ["train", "moons", "--layers", "8,4", "--steps", "20", "--set", "tau=3"]
    first += ["--out-of-range", "unknown"]
    assert main([*first, "--seed", "5", "-o", str(tmp_path / "first")]) == 0
    import trilut

    netlist = trilut.load(tmp_path / "first" / "net.trilut")
    assert all(feature.seen is not None for feature in netlist.encoder.features)
    command = origin_rows(netlist.provenance)["command"]
    words = shlex.split(command)
    assert words[:2] == ["trilut", "train"]
    again = [str(tmp_path / "again") if word == "RUN" else word for word in words[1:]]
    assert main(again) == 0
    files = [tmp_path / run / "net.trilut" for run in ("first", "again")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_settings_that_say_most_are_shown():
    rows = origin_rows({"training": {"layers": [8, 4], "tau": None, "skip": True}})
    assert rows == {"settings": "layers 8,4, tau none"}


@pytest.mark.parametrize(
    "provenance",
    [{}, {"training": 3}, {"training": {}}, {"training": {}, "data": {"name": 3}}, {"data": {}}],
)
def test_netlist_that_does_not_say_how_it_was_trained(provenance):
    assert training_command(provenance) is None


def test_names_in_a_command_are_quoted():
    provenance = {"training": {"layers": [2]}, "data": {"name": "my file.csv; rm -r"}}
    assert training_command(provenance) == (
        "trilut train 'my file.csv; rm -r' -o RUN --set layers=2"
    )

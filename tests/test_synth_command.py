import json
from importlib.resources import files

import pytest
from circuits import random_netlist

from trilut.circuit.format import save
from trilut.cli import main
from trilut.synth import load_target, target_names


@pytest.fixture
def net(tmp_path):
    path = tmp_path / "net.trilut"
    save(
        random_netlist(
            1, num_inputs=4, num_gates=6, num_outputs=4, num_classes=2, with_encoder=True
        ),
        path,
    )
    return path


def test_list(capsys):
    assert main(["synth", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [target["name"] for target in listed] == list(target_names())
    assert {target["timing"] for target in listed} == {
        "post-route",
        "static, with the library's wire load if it has one",
        "none, logic levels only",
    }
    assert listed[0]["title"] == load_target("asic").title


@pytest.mark.parametrize("option", ["--timeout", "--frequency"])
@pytest.mark.parametrize("value", ["0", "-1", "nan", "x"])
def test_number_that_is_not_above_0(option, value, capsys):
    with pytest.raises(SystemExit):
        main(["synth", f"{option}={value}"])
    assert f"argument {option}: {value!r} is not a number above 0" in capsys.readouterr().err


def test_target_file_of_another_name(net, tmp_path, capsys):
    arguments = ["synth", str(net), "-o", str(tmp_path / "o"), "--target-file", "mine.txt"]
    assert main(arguments) == 1
    assert capsys.readouterr().err == (
        "trilut: error: Target file 'mine.txt' is not named NAME.toml\n"
    )


def test_two_targets_of_one_name(net, tmp_path, capsys):
    first, second = tmp_path / "a" / "mine.toml", tmp_path / "b" / "mine.toml"
    text = files("trilut.synth").joinpath("targets", "xc7.toml").read_bytes()
    for path in (first, second):
        path.parent.mkdir()
        path.write_bytes(text)
    output = tmp_path / "o"
    for options, names in (
        (["--target-file", str(first), "--target-file", str(second)], (first, second, "mine")),
        (["--target", "ecp5,xc7", "--target", "ecp5"], ("ecp5", "ecp5", "ecp5")),
    ):
        assert main(["synth", str(net), "-o", str(output), *options]) == 1
        one, other, name = map(str, names)
        assert capsys.readouterr().err == (
            f"trilut: error: Targets {one!r} and {other!r} are both called {name!r}, expected a "
            "name for each, since its report goes into a directory of that name\n"
        )
        assert not output.exists()


@pytest.mark.synth
def test_synthesis_with_a_loader(net, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TRILUT_CACHE", str(tmp_path / "cache"))
    arguments = ["--target", "ice40", "--axi", "8", "--no-missing", "--pipeline", "3", "--json"]
    assert main(["synth", str(net), "-o", str(tmp_path / "o"), *arguments]) == 0
    section = json.loads(capsys.readouterr().out)["synthesis"]
    assert section["conventions"]["loader"] == "in"
    assert section["blocks"]["loader"]["ff"] > 0
    assert section["blocks"]["encoder"]["ff"] == 0
    assert section["fmax_mhz"] > 0


@pytest.mark.synth
def test_one_target_fails_and_the_other_does_not(net, tmp_path, monkeypatch, capsys):
    nextpnr = tmp_path / "nextpnr"
    nextpnr.write_text(
        '#!/bin/sh\nif [ "$1" = -V ]; then echo nextpnr-0.11; exit; fi\n'
        "echo 'ERROR: no way through'\nexit 1\n"
    )
    nextpnr.chmod(0o755)
    monkeypatch.setenv("NEXTPNR_ICE40", str(nextpnr))
    monkeypatch.setenv("TRILUT_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "o"
    assert main(["synth", str(net), "-o", str(out), "--target", "ice40,asic", "--json"]) == 1
    printed = capsys.readouterr()
    partial = json.loads((out / "ice40" / "synthesis.json").read_text())["synthesis"]
    lut4, ff = partial["lut4"], partial["ff"]
    assert lut4 > 0
    assert printed.err.splitlines()[-1] == (
        "trilut: error: ice40: nextpnr-ice40 failed in step 'place and route': "
        f"ERROR: no way through; log: {str(out / 'ice40' / 'logs' / 'nextpnr.log')!r}; "
        f"the area, {lut4} LUT4, {ff} FF, is in {str(out / 'ice40' / 'synthesis.json')!r}"
    )
    assert list(json.loads(printed.out)) == ["asic"]
    assert (out / "ice40" / "logs" / "nextpnr.log").read_text() == "ERROR: no way through\n"
    assert partial["fmax_mhz"] is None
    assert partial["incomplete"].startswith("nextpnr-ice40 failed in step 'place and route'")
    whole = json.loads((out / "asic" / "synthesis.json").read_text())["synthesis"]
    assert whole["fmax_mhz"] > 0
    assert whole["asic"]["is_invented"]
    check_handoff(out / "asic", whole)


def check_handoff(folder, section):
    netlist = (folder / "mapped.v").read_text()
    assert netlist.count("endmodule") == 1
    counts = section["asic"]["cell_counts"]
    for name, count in counts.items():
        assert netlist.count(f"\n  {name} ") == count
    assert (folder / "cells.v").read_text().count("endmodule") == len(counts)
    rows = [row.split(",") for row in (folder / "cells.csv").read_text().splitlines()[1:]]
    assert {name: int(count) for name, count, *_ in rows} == counts
    assert (folder / "mapped.sdc").read_text() == (
        "# 200 MHz, in the time unit of the library\n"
        "create_clock -name clk -period 5 [get_ports clk]\n"
        "set_input_delay 1 -clock clk [all_inputs -no_clocks]\n"
        "set_output_delay 1 -clock clk [all_outputs]\n"
    )
    assert (
        f"{section['fmax_mhz']:.1f} MHz, static, no wires"
        in (folder / "README-mapped.md").read_text()
    )

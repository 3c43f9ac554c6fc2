import os
import threading
import tty
from contextlib import contextmanager, suppress

import pytest
import serial
from boardlink import small_net

from trilut import save
from trilut.boards import BoardError, BoardLink, classify_table
from trilut.boards.protocol import Frame, FrameReader, Identity, Kind, encode_frame, payload_bytes
from trilut.circuit.format import digest
from trilut.cli import main


def fill(port):
    """Write to a port until it takes no more, since nobody reads there."""
    line = os.open(port, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    with suppress(BlockingIOError):
        while True:
            os.write(line, bytes(1024))
    os.close(line)


@contextmanager
def fake_board(answers, *, begin=None):
    """A port behind which every request is answered by a function; None is silence.

    With an event nothing is read before it.
    """
    board, port = os.openpty()
    tty.setraw(port)
    net = small_net()
    length = payload_bytes(net.encoder)

    def serve():
        if begin is not None:
            begin.wait()
        reader = FrameReader({Kind.IDENTIFY: 0, Kind.STATUS: 0, Kind.CLASSIFY: length})
        while b"stop" not in (data := os.read(board, 4096)):
            for request in reader.feed(data):
                if (answer := answers(request)) is not None:
                    os.write(board, answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield os.ttyname(port)
    finally:
        os.write(port, b"stop")
        thread.join()
        os.close(board)
        os.close(port)


def identity_frame(sequence, **changes):
    facts = {"version": 1, "num_features": 9, "value_bytes": 1, "num_classes": 3}
    facts |= {"clock_hz": 12_000_000, "digest": digest(small_net())[:16]}
    return encode_frame(Kind.IDENTITY, sequence, Identity(**{**facts, **changes}).pack())


def write_table(path, num_rows=3):
    names = [feature.name for feature in small_net().encoder.features]
    rows = [",".join(names), *(",".join(["1"] * len(names)) for _ in range(num_rows))]
    path.write_text("\n".join(rows) + "\n")


def test_silence():
    message = (
        r"^The board at '/dev/pts/\d+' did not answer the request 'identify' after 3 tries; the "
        r"last one: no answer$"
    )
    with (
        fake_board(lambda request: None) as port,
        pytest.raises(BoardError, match=message),
    ):
        BoardLink(port, timeout=0.05, retries=2)


@pytest.mark.parametrize("timeout", [0, float("nan"), float("inf")])
def test_timeout_that_never_ends(timeout):
    message = rf"^The timeout is {timeout} s, expected a finite number above 0$"
    with pytest.raises(ValueError, match=message):
        BoardLink("/dev/nobody", timeout=timeout)


def test_another_version():
    message = r"^The board at '/dev/pts/\d+' speaks version 2 of the protocol, expected 1$"
    with (
        fake_board(lambda request: identity_frame(request.sequence, version=2)) as port,
        pytest.raises(BoardError, match=message),
    ):
        BoardLink(port, timeout=1, retries=0)


def test_garbled_and_late_answers_are_not_taken_for_good_ones():
    count = 0

    def answer(request):
        nonlocal count
        count += 1
        good = identity_frame(request.sequence)
        late = identity_frame((request.sequence - 1) % 256, num_classes=99)
        return good[:9] + b"?" + good[10:] if count == 1 else late + good

    with fake_board(answer) as port, BoardLink(port, timeout=60) as link:
        assert link.identity.num_classes == 3
        assert link.troubles == {"garbled answer": 1}


def test_late_answer_alone_is_none():
    def answer(request):
        if request.kind == Kind.IDENTIFY:
            return identity_frame(request.sequence)
        return encode_frame(Kind.STATE, (request.sequence - 1) % 256, bytes(20))

    with fake_board(answer) as port, BoardLink(port, timeout=60, retries=1) as link:
        link.timeout = 0.2
        message = (
            rf"^The board at '{port}' did not answer the request 'status' after 2 tries; the "
            r"last one: no answer$"
        )
        with pytest.raises(BoardError, match=message):
            link.status()
        assert link.troubles == {"no answer": 2}


def test_line_that_takes_no_bytes(monkeypatch):
    given_up = threading.Event()
    drop = serial.Serial.reset_output_buffer

    def drop_and_say_so(line):
        drop(line)
        given_up.set()

    def answer(request):
        # What filled the line is no frame.
        return identity_frame(request.sequence) if isinstance(request, Frame) else None

    monkeypatch.setattr(serial.Serial, "reset_output_buffer", drop_and_say_so)
    with fake_board(answer, begin=given_up) as port:
        fill(port)
        with BoardLink(port, timeout=2, retries=20) as link:
            assert link.troubles["request not sent"] == 1


def test_a_board_that_was_exchanged():
    seen = []

    def answer(request):
        seen.append(request.kind)
        if request.kind == Kind.IDENTIFY:
            return identity_frame(request.sequence, num_classes=2 + seen.count(Kind.IDENTIFY))
        return encode_frame(Kind.REJECTED, request.sequence, b"\x06\x00")

    with fake_board(answer) as port, BoardLink(port, timeout=1) as link:
        message = rf"^The board at '{port}' was exchanged for another one$"
        with pytest.raises(BoardError, match=message):
            link.status()


def test_answers_up_to_a_failure_are_kept(tmp_path):
    def answer(request):
        if request.kind == Kind.IDENTIFY:
            return identity_frame(request.sequence)
        if request.sequence > 3:
            return encode_frame(Kind.REJECTED, request.sequence, b"\x07\x00")
        return encode_frame(Kind.RESULT, request.sequence, b"\x02\x00\x05\x00\x01\x00")

    write_table(tmp_path / "in.csv")
    out = tmp_path / "out.csv"
    with fake_board(answer) as port, BoardLink(port, timeout=60, retries=1) as link:
        message = (
            rf"^The board at '{port}' did not answer the request 'classify' after 2 tries; the "
            rf"last one: rejected, busy; the answers to the first 2 of 3 rows are in '{out}'$"
        )
        with pytest.raises(BoardError, match=message):
            classify_table(link, small_net(), tmp_path / "in.csv", output=out)
    assert out.read_text() == "class,margin,unknown\nclass 2,5,1\nclass 2,5,1\n"


def test_wrong_answers_are_found_by_check(tmp_path, capsys):
    def answer(request):
        if request.kind == Kind.IDENTIFY:
            return identity_frame(request.sequence)
        return encode_frame(Kind.RESULT, request.sequence, b"\x02\x00\xff\x00\x01\x00")

    write_table(tmp_path / "in.csv")
    save(small_net(), tmp_path / "net.trilut")
    command = ["classify", str(tmp_path / "in.csv")]
    with fake_board(answer) as port:
        assert main(["host", port, *command, "--check", str(tmp_path / "net.trilut")]) == 1
        captured = capsys.readouterr()
        assert captured.out == "class,margin,unknown\n" + "class 2,255,1\n" * 3
        assert "Row 1 is the first that the board and the simulator answer differently" in (
            " ".join(captured.err.split())
        )
        assert main(["host", port, *command, "--net", str(tmp_path / "net.trilut")]) == 0


def test_host_without_a_board(capsys):
    assert main(["host", "/dev/nobody", "status"]) == 1
    assert capsys.readouterr().err.startswith("trilut: error: Cannot open '/dev/nobody': ")


def test_table_without_a_feature(tmp_path, capsys):
    save(small_net(), tmp_path / "net.trilut")
    (tmp_path / "in.csv").write_text("f0,f1\n1,2\n")
    with fake_board(lambda request: identity_frame(request.sequence)) as port:
        command = ["classify", str(tmp_path / "in.csv"), "--net", str(tmp_path / "net.trilut")]
        assert main(["host", port, *command]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"trilut: error: '{tmp_path}/in.csv' has no column 'f2', expected one of 'f0', 'f1'"
    )

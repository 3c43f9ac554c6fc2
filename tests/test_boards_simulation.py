import json
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import serial
from boardlink import expected_answers, random_vectors, small_net
from circuits import random_nodes, voting_netlist

from trilut import Feature, save
from trilut.boards.batch import classify_table
from trilut.boards.host import BoardError, BoardLink
from trilut.boards.protocol import (
    ANSWER_BYTES,
    Frame,
    FrameReader,
    Kind,
    Rejection,
    Result,
    Status,
    encode_frame,
    payloads,
)
from trilut.boards.simulation import LineErrors, build_simulation
from trilut.circuit.format import digest
from trilut.circuit.interface import HeadOutput
from trilut.cli import main

pytestmark = pytest.mark.sim


@pytest.fixture(scope="module")
def net():
    return small_net()


@pytest.fixture(scope="module")
def board(net, tmp_path_factory):
    return build_simulation(net, tmp_path_factory.mktemp("board"))


def classify_all(link, net, vectors):
    return [(r.chosen, r.margin, r.unknown) for r in link.classify(net, vectors)]


def test_every_vector_is_answered_like_the_reference(board, net):
    vectors = random_vectors(net.encoder, 40)
    with board.start() as live, BoardLink(live.port) as link:
        assert link.identity == board.design.identity
        assert link.identity.digest == digest(net)[:16]
        assert classify_all(link, net, vectors) == expected_answers(net, vectors)
        status = link.status()
    assert status.self_test_passed
    assert status.latency == board.design.classifier.latency
    assert status.rejections == dict.fromkeys(Rejection, 0)


@pytest.mark.slow
def test_gates_of_any_inputs_are_answered_like_the_reference(tmp_path):
    net = random_nodes(
        4,
        num_inputs=8,
        num_gates=25,
        num_outputs=12,
        num_classes=3,
        scores=True,
        with_encoder=True,
    )
    vectors = random_vectors(net.encoder, 40)
    with build_simulation(net, tmp_path).start() as live, BoardLink(live.port) as link:
        assert classify_all(link, net, vectors) == expected_answers(net, vectors)
        assert link.status().self_test_passed


@pytest.mark.parametrize(
    "errors",
    [
        LineErrors(bit_errors=1e-3, seed=1),
        LineErrors(dropped_bytes=1e-2, seed=2),
        LineErrors(resets=1e-2, seed=3),
        LineErrors(bit_errors=1e-3, dropped_bytes=1e-2, resets=1e-2, seed=4),
    ],
    ids=["noise", "drops", "resets", "all"],
)
def test_answers_stay_right_on_a_bad_line(board, net, errors):
    vectors = random_vectors(net.encoder, 60, seed=errors.seed)
    with board.start(errors) as live:
        with BoardLink(live.port, timeout=0.2, retries=40) as link:
            assert classify_all(link, net, vectors) == expected_answers(net, vectors)
            troubles = link.troubles.total()
        injected = live.injected
    # The line was bad indeed, and in all the ways that were asked for.
    assert troubles > 0
    for kind in ("bit_errors", "dropped_bytes", "resets"):
        assert (injected[kind] > 0) == (getattr(errors, kind) > 0)


def test_without_retries_a_vector_is_answered_right_or_reported(board, net):
    vectors = random_vectors(net.encoder, 80, seed=5)
    expected = expected_answers(net, vectors)
    answered = reported = 0
    errors = LineErrors(bit_errors=5e-4, dropped_bytes=1e-3, seed=6)
    with board.start(errors) as live, BoardLink(live.port, timeout=0.2, retries=40) as link:
        for sample, answer in enumerate(expected):
            link.retries = 0
            try:
                (result,) = classify_all(link, net, vectors[slice(sample, sample + 1)])
            except BoardError:
                reported += 1
                # Back in step, so that one error is not reported for ever.
                link.retries = 40
                link.status()
            else:
                assert result == answer
                answered += 1
    assert answered > reported > 0


class RawLine:
    """Bytes as they are, to send what the host never would."""

    def __init__(self, port):
        self.line = serial.Serial(port, timeout=5)
        self.reader = FrameReader(ANSWER_BYTES)
        self.found = []

    def send(self, *frames):
        self.line.write(b"".join(frames))

    def answer(self):
        while not self.found:
            data = self.line.read(max(1, self.line.in_waiting))
            assert data, "The board is silent"
            self.found += self.reader.feed(data)
        return self.found.pop(0)

    def is_silent(self):
        self.line.timeout = 0.3
        data = self.line.read(1)
        self.line.timeout = 5
        return data == b"" and not self.found

    def status(self, sequence):
        self.send(encode_frame(Kind.STATUS, sequence))
        return Status.unpack(self.answer().payload)


@pytest.fixture
def line(board):
    with board.start() as live:
        with BoardLink(live.port):
            # The self-test is over.
            pass
        line = RawLine(live.port)
        yield line
        line.line.close()


def rejection(sequence, reason):
    return Frame(Kind.REJECTED, sequence, bytes([reason, 0]))


def test_each_rejection_is_answered_and_counted_and_the_link_goes_on(line, net):
    payload = next(payloads(net.encoder, random_vectors(net.encoder, 1)))
    whole = encode_frame(Kind.CLASSIFY, 51, payload)
    line.send(encode_frame(Kind.IDENTIFY, 50))
    assert line.answer().sequence == 50
    broken = bytearray(whole)
    broken[8] ^= 1
    wrong = [
        (encode_frame(Kind.CLASSIFY, 51, payload[:-1]), Rejection.TRUNCATED),
        (encode_frame(Kind.CLASSIFY, 51, payload + b"x"), Rejection.OVERSIZED),
        (encode_frame(Kind.CLASSIFY, 51, payload + bytes(5000)), Rejection.OVERSIZED),
        (bytes(broken), Rejection.CHECKSUM),
        (encode_frame(0x33, 51, payload), Rejection.KIND),
        (encode_frame(Kind.CLASSIFY, 53, payload), Rejection.SEQUENCE),
        (encode_frame(Kind.CLASSIFY, 49, payload), Rejection.SEQUENCE),
        (whole[:-2] + b"\x7d\x7e", Rejection.MALFORMED),
        # Half a frame and then nothing: given up after a while.
        (whole[:-4], Rejection.TRUNCATED),
    ]
    for data, reason in wrong:
        line.send(data)
        answer = line.answer()
        assert (answer.kind, answer.payload) == (Kind.REJECTED, bytes([reason, 0])), reason
        line.send(whole)
        (expected,) = expected_answers(net, random_vectors(net.encoder, 1))
        result = Result.unpack(line.answer().payload)
        assert (result.chosen, result.margin, result.unknown) == expected
    counts = line.status(52).rejections
    for reason in Rejection:
        assert counts[reason] == sum(each is reason for _, each in wrong)


def test_noise_is_counted_and_not_answered(line):
    line.send(b"\x7e\x01\x02\x7e\x03\x7e")
    assert line.is_silent()
    line.send(encode_frame(Kind.IDENTIFY, 1))
    assert line.answer().kind == Kind.IDENTITY
    assert line.status(2).rejections[Rejection.TRUNCATED] == 2


def test_a_request_during_an_answer_is_counted_as_busy(line):
    line.send(encode_frame(Kind.IDENTIFY, 9), encode_frame(Kind.IDENTIFY, 10))
    assert line.answer().sequence == 9
    assert line.is_silent()
    assert line.status(10).rejections[Rejection.BUSY] == 1


def test_the_sequence_wraps_and_the_last_request_may_be_repeated(line):
    line.send(encode_frame(Kind.IDENTIFY, 254))
    assert line.answer().sequence == 254
    for sequence in (255, 255, 0, 0, 1):
        line.send(encode_frame(Kind.STATUS, sequence))
        answer = line.answer()
        assert (answer.kind, answer.sequence) == (Kind.STATE, sequence)


def test_after_a_reset_only_an_identify_request_is_heard(board):
    # The reset comes before the first byte, so the board is new to this frame.
    with board.start() as live:
        line = RawLine(live.port)
        while True:
            line.send(encode_frame(Kind.STATUS, 0))
            if not line.is_silent():
                break
        assert line.answer() == rejection(0, Rejection.SEQUENCE)
        line.send(encode_frame(Kind.IDENTIFY, 0))
        # A slow machine may have been asked several times.
        while (answer := line.answer()) == rejection(0, Rejection.SEQUENCE):
            pass
        assert answer.kind == Kind.IDENTITY
        assert line.status(0).rejections[Rejection.SEQUENCE] >= 1
        line.line.close()


def test_another_netlist(board):
    other = small_net(seed=4)
    with board.start() as live, BoardLink(live.port) as link:
        message = (
            rf"^The board at '{live.port}' was built from the netlist {link.identity.digest}…, "
            rf"but 'net' is {digest(other)[:16]}…$"
        )
        with pytest.raises(BoardError, match=message):
            classify_all(link, other, random_vectors(other.encoder, 1))


def test_a_second_host_cannot_take_the_port(board):
    with (
        board.start() as live,
        BoardLink(live.port),
        pytest.raises(BoardError, match=rf"^Cannot open '{live.port}': .*exclusively lock"),
    ):
        BoardLink(live.port)


def test_nobody_there():
    with pytest.raises(BoardError, match=r"^Cannot open '/dev/nobody': .*No such file"):
        BoardLink("/dev/nobody")


@pytest.mark.slow
def test_digits_on_a_bad_line(tmp_path):
    from trilut.data import load_dataset
    from trilut.training import TrainingConfig, train

    digits = load_dataset("digits")
    net = train(digits, TrainingConfig.of(layers=(300, 200), steps=300)).netlist
    samples = np.array(digits.test.x[:250], dtype=np.float64)
    samples[np.random.default_rng(0).random(samples.shape) < 0.02] = np.nan
    vectors = net.encoder.quantize(samples)
    expected = expected_answers(net, vectors)
    assert len({chosen for chosen, *_ in expected}) == 10
    board = build_simulation(net, tmp_path)
    errors = LineErrors(bit_errors=2e-4, dropped_bytes=5e-4, resets=5e-4, seed=7)
    with board.start(errors) as live:
        with BoardLink(live.port, timeout=0.5, retries=40) as link:
            assert link.status().self_test_passed
            assert classify_all(link, net, vectors) == expected
            assert link.troubles.total() > 20
        assert all(live.injected.values())


@pytest.mark.slow
def test_simulated_board_on_the_command_line(net, tmp_path, capsys):
    save(net, tmp_path / "net.trilut")
    names = [feature.name for feature in net.encoder.features]
    table = tmp_path / "in.csv"
    table.write_text("\n".join([",".join(names), ",".join("1" * len(names)), ",2" * 8, ""]))
    command = [sys.executable, "-m", "trilut", "board", "sim", str(tmp_path / "net.trilut")]
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, text=True) as process:
        try:
            text = ""
            while not text.endswith("}\n"):
                text += process.stdout.readline()
            port = json.loads(text)["port"]
            assert main(["host", port, "status", "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["status"]["self_test_passed"]
            check = ["classify", str(table), "--check", str(tmp_path / "net.trilut")]
            assert main(["host", port, *check, "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["mismatches"] == []
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130


@pytest.mark.slow
def test_a_board_says_what_is_certain_and_which_classes_it_could_be(tmp_path):
    net = voting_netlist(
        tuple(Feature(f"f{index}", bits=8, signed=True) for index in range(5)),
        np.tile([-30, 0, 30], (5, 1)),
        3,
    )
    net = replace(net, head=replace(net.head, set_margin=6))
    board = build_simulation(net, tmp_path / "board", outputs=list(HeadOutput)[1:])
    table, answers = tmp_path / "table.csv", tmp_path / "answers.csv"
    rng = np.random.default_rng(0)
    rows = [[str(x) if rng.random() > 0.2 else "" for x in row]
            for row in rng.integers(-128, 128, (60, 5)).tolist()]  # fmt: skip
    header = ",".join(feature.name for feature in net.encoder.features)
    table.write_text("\n".join([header, *map(",".join, rows)]) + "\n")
    with board.start() as live, BoardLink(live.port, timeout=20) as link:
        assert link.identity.outputs == (HeadOutput.CERTAIN, HeadOutput.SET)
        assert link.status().self_test_passed
        batch = classify_table(link, net, table, output=answers, check=True)
    assert batch.mismatches == []
    assert {result.certain for result in batch.results} == {False, True}
    assert {len(result.members) for result in batch.results} == {1, 2}
    lines = answers.read_text().splitlines()
    assert lines[0] == "class,margin,unknown,certain,set"
    assert any(line.endswith(",0,high; low") for line in lines)

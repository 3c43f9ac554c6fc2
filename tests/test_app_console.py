import io

import pytest
from rich.console import Console

from trilut.app import console


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def log(monkeypatch, clock):
    return replace_stderr(monkeypatch, clock, is_terminal=False)


@pytest.fixture
def terminal(monkeypatch, clock):
    return replace_stderr(monkeypatch, clock, is_terminal=True)


def replace_stderr(monkeypatch, clock, *, is_terminal):
    file = io.StringIO()
    stderr = Console(
        file=file, width=80, force_terminal=is_terminal, get_time=clock, highlight=False
    )
    monkeypatch.setattr(console, "_stderr", stderr)
    return file


def train(clock, *, seconds, steps, start=0):
    """Show a training whose steps take so many seconds each."""
    with console.stages() as show:
        stage = show.start("train")
        for step in range(start + 1, steps + 1):
            clock.now += seconds
            stage.update(step, steps, f"loss {1 / step:.3f}", unit="step")
        stage.finish("5 gates")


def test_time_left_although_updates_are_rare(terminal, clock):
    with console.stages() as show:
        stage = show.start("train")
        for done in (1, 2, 3):
            clock.now += 100
            stage.update(done, 10)
    assert "0:11:40" in terminal.getvalue()


def test_log_of_a_long_training(log, clock):
    train(clock, seconds=2000, steps=4)
    assert log.getvalue().splitlines() == [
        "train …",
        "train: step 1 of 4, 25 %, loss 1.000",
        "train: step 2 of 4, 50 %, about 1 h 7 min left, loss 0.500",
        "train: step 3 of 4, 75 %, about 34 min left, loss 0.333",
        "train: step 4 of 4, 100 %, loss 0.250",
        "train: 5 gates",
    ]


def test_log_has_a_line_every_half_minute_and_the_last(log, clock):
    train(clock, seconds=1, steps=75)
    assert log.getvalue().splitlines() == [
        "train …",
        "train: step 2 of 75, 2 %, about 2 min left, loss 0.500",
        "train: step 32 of 75, 42 %, about 1 min left, loss 0.031",
        "train: step 62 of 75, 82 %, about 1 min left, loss 0.016",
        "train: step 75 of 75, 100 %, loss 0.013",
        "train: 5 gates",
    ]


def test_log_of_a_short_training(log, clock):
    train(clock, seconds=0.29, steps=100)
    assert log.getvalue().splitlines() == ["train …", "train: 5 gates"]


def test_time_left_of_a_resumed_training(log, clock):
    train(clock, seconds=60, steps=1000, start=997)
    assert log.getvalue().splitlines() == [
        "train …",
        "train: step 998 of 1000, 99 %, loss 0.001",
        "train: step 999 of 1000, 99 %, about 1 min left, loss 0.001",
        "train: step 1000 of 1000, 100 %, loss 0.001",
        "train: 5 gates",
    ]


def test_log_does_not_count_what_has_no_unit(log, clock):
    with console.stages() as show:
        stage = show.start("synth")
        clock.now += 40
        stage.update(1, 3, "[net], 2")
    assert log.getvalue().splitlines() == ["synth …", "synth: 33 %, [net], 2"]


def test_line_of_a_log_is_not_folded(log):
    message = "word " * 30 + "end"
    console.talk(message)
    assert log.getvalue() == message + "\n"


def test_terminal_gets_no_lines(terminal, clock):
    train(clock, seconds=100, steps=3)
    assert "step 1 of 3" not in terminal.getvalue()

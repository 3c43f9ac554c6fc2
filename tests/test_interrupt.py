import contextlib
import os
import signal
import subprocess

import pytest

from trilut import interrupt

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def own_handler():
    before = {number: signal.getsignal(number) for number in SIGNALS}
    interrupt.install()
    yield
    interrupt.install()
    for number, handler in before.items():
        signal.signal(number, handler)


def press(number=signal.SIGINT):
    os.kill(os.getpid(), number)


def test_ctrl_c_raises_at_once():
    with pytest.raises(KeyboardInterrupt):
        press()


@pytest.mark.parametrize("number", SIGNALS)
def test_every_request_to_end_raises_and_has_its_status(number):
    with pytest.raises(KeyboardInterrupt):
        press(number)
    assert interrupt.status() == 128 + number
    with pytest.raises(KeyboardInterrupt):
        interrupt.check()


def test_a_closed_terminal_that_the_caller_ignores_stays_ignored():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interrupt.install()
    press(signal.SIGHUP)
    interrupt.check()


@pytest.mark.parametrize(
    ("number", "is_passed_on"), [(signal.SIGINT, False), (15, True), (1, True)]
)
def test_only_what_a_terminal_does_not_send_to_all_is_passed_on(number, is_passed_on):
    with subprocess.Popen(["sleep", "600"]) as other:
        interrupt.pass_on([other.pid])
        with contextlib.suppress(KeyboardInterrupt):
            press(number)
        interrupt.pass_on([other.pid, None])
        if not is_passed_on:
            assert other.poll() is None
            other.kill()
        assert other.wait(60) == -(signal.SIGTERM if is_passed_on else signal.SIGKILL)


def test_swallowed_ctrl_c_is_remembered():
    with contextlib.suppress(KeyboardInterrupt):
        press()
    with pytest.raises(KeyboardInterrupt):
        interrupt.check()


def test_nothing_to_remember():
    interrupt.check()


def test_deferred_ctrl_c_comes_at_the_end():
    reached = []

    def work():
        with interrupt.deferred():
            press()
            reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert reached == [True]


def test_second_ctrl_c_does_not_wait():
    reached = []

    def work():
        with interrupt.deferred():
            press()
            press()
            reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert reached == []

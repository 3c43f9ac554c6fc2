import contextlib
import os
import signal

import pytest

from trilut import interrupt


@pytest.fixture(autouse=True)
def own_handler():
    before = signal.getsignal(signal.SIGINT)
    interrupt.install()
    yield
    interrupt.install()
    signal.signal(signal.SIGINT, before)


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_raises_at_once():
    with pytest.raises(KeyboardInterrupt):
        press()


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

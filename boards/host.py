"""The host's end of the link: asking a board, and asking again when the line fails."""

import time
from collections import Counter, deque
from collections.abc import Iterator
from math import inf
from types import TracebackType
from typing import Self

import serial

from trilut.boards.protocol import (
    ANSWER_BYTES,
    DEFAULT_BAUD,
    VERSION,
    Frame,
    FrameReader,
    Identity,
    Kind,
    Rejection,
    Result,
    Status,
    encode_frame,
    payloads,
    result_bytes,
)
from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.format import digest
from trilut.circuit.netlist import Netlist
from trilut.errors import NetlistError, TrilutError

__all__ = ["BoardError", "BoardLink"]

_ANSWER_BIT = 0x80
_NO_ANSWER = "no answer"
_GARBLED = "garbled answer"
_NOT_SENT = "request not sent"
_BITS_PER_BYTE = 10


class BoardError(TrilutError):
    """A board that does not answer, or is not the one that was expected."""


class BoardLink:
    """A board at a serial port.

    One request is under way at a time. What cannot be sent, or gets no answer, a garbled one or a
    rejection, is asked again, with the same sequence number, so that an answer that comes late is
    known as such. A board that was reset on the way says so by rejecting the sequence number; it is
    then asked again what it is, and the request is repeated.

    Parameters
    ----------
    port : str
        The port, for example ``/dev/ttyUSB1`` or ``COM3``.
    baud : int
        Bits per second.
    timeout : float
        Seconds to wait for an answer, and for a line that takes no more bytes.
    retries : int
        How often a request is repeated.

    Attributes
    ----------
    troubles : Counter
        How often a request had to be repeated, by the reason.

    Raises
    ------
    ValueError
        If ``timeout`` is not a finite number above 0.
    BoardError
        If the port cannot be opened, or there is no board that speaks this protocol.
    """

    def __init__(
        self, port: str, *, baud: int = DEFAULT_BAUD, timeout: float = 1.0, retries: int = 8
    ):
        if not 0 < timeout < inf:
            raise ValueError(f"The timeout is {timeout} s, expected a finite number above 0")
        self.port = port
        self.timeout = timeout
        self.retries = retries
        self.troubles: Counter[str] = Counter()
        self._sequence = 0
        self._reader = FrameReader(ANSWER_BYTES)
        self._arrivals: deque[Frame | Rejection] = deque()
        try:
            self._line = serial.Serial(port, baud, exclusive=True)
        except (OSError, ValueError) as error:
            raise BoardError(f"Cannot open {port!r}: {error}") from error
        try:
            self.identity = Identity.unpack(self._ask(Kind.IDENTIFY))
            if self.identity.version != VERSION:
                raise BoardError(
                    f"The board at {port!r} speaks version {self.identity.version} of the "
                    f"protocol, expected {VERSION}"
                )
            size = result_bytes(self.identity.outputs, self.identity.num_classes)
            self._reader = FrameReader({**ANSWER_BYTES, Kind.RESULT: size})
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the port."""
        self._line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def check(self, netlist: Netlist) -> None:
        """Raise a BoardError unless the board was built from this netlist."""
        expected = digest(netlist)[:16]
        if self.identity.digest != expected:
            raise BoardError(
                f"The board at {self.port!r} was built from the netlist {self.identity.digest}…, "
                f"but {netlist.name!r} is {expected}…"
            )

    def status(self) -> Status:
        """Ask how the board is.

        Raises
        ------
        BoardError
            If there is no answer.
        """
        return Status.unpack(self._ask(Kind.STATUS))

    def classify(self, netlist: Netlist, vectors: FeatureVectors) -> Iterator[Result]:
        """Have feature vectors classified; results come one by one.

        Raises
        ------
        BoardError
            If the board was built from another netlist, or one vector gets no answer.
        NetlistError
            If the netlist has no encoder.
        """
        if netlist.encoder is None:
            raise NetlistError(f"Netlist {netlist.name!r} has no encoder, which a board needs")
        self.check(netlist)
        for payload in payloads(netlist.encoder, vectors):
            yield Result.unpack(self._ask(Kind.CLASSIFY, payload), self.identity.outputs)

    def _ask(self, kind: Kind, payload: bytes = b"") -> bytes:
        """Send a request until it is answered, and return the answer's payload."""
        self._sequence = (self._sequence + 1) % 256
        self._forget()
        trouble = ""
        for _ in range(1 + self.retries):
            answer = self._exchange(kind, self._sequence, payload)
            if isinstance(answer, Frame):
                return answer.payload
            trouble = answer
            self.troubles[trouble] += 1
            if trouble == _name(Rejection.SEQUENCE):
                self._synchronize()
        raise BoardError(
            f"The board at {self.port!r} did not answer the request {kind.name.lower()!r} after "
            f"{1 + self.retries} tries; the last one: {trouble}"
        )

    def _synchronize(self) -> None:
        """Tell a board that was reset where the sequence stands, and check that it is the same."""
        answer = self._exchange(Kind.IDENTIFY, (self._sequence - 1) % 256, b"")
        if isinstance(answer, Frame) and Identity.unpack(answer.payload) != self.identity:
            raise BoardError(f"The board at {self.port!r} was exchanged for another one")

    def _exchange(self, kind: Kind, sequence: int, payload: bytes) -> Frame | str:
        """Send a request once, and return its answer or what went wrong."""
        try:
            self._send(encode_frame(kind, sequence, payload))
            return self._answer(kind | _ANSWER_BIT, sequence)
        except serial.SerialTimeoutException:
            # The next frame begins with a flag, whatever of this one has gone out.
            self._line.reset_output_buffer()
            return _NOT_SENT
        except OSError as error:
            raise BoardError(f"The board at {self.port!r} is gone: {error}") from error

    def _send(self, frame: bytes) -> None:
        self._line.write_timeout = self.timeout + _BITS_PER_BYTE * len(frame) / self._line.baudrate
        self._line.write(frame)

    def _answer(self, kind: int, sequence: int) -> Frame | str:
        deadline = time.monotonic() + self.timeout
        while self._read(deadline):
            arrival = self._arrivals.popleft()
            if isinstance(arrival, Rejection):
                return _GARBLED
            if arrival.kind == Kind.REJECTED:
                return _rejection(arrival)
            # Others are late answers to what was asked before.
            if (arrival.kind, arrival.sequence) == (kind, sequence):
                return arrival
        return _NO_ANSWER

    def _read(self, deadline: float) -> bool:
        """Read until there is something to judge, and say whether it came in time."""
        while not self._arrivals:
            left = deadline - time.monotonic()
            if left <= 0:
                self._arrivals += self._reader.give_up()
                return bool(self._arrivals)
            self._line.timeout = left
            self._arrivals += self._reader.feed(self._line.read(max(1, self._line.in_waiting)))
        return True

    def _forget(self) -> None:
        """Drop what came unasked, such as a second answer to a request that was repeated."""
        self._line.reset_input_buffer()
        self._reader.give_up()
        self._arrivals.clear()


def _rejection(frame: Frame) -> str:
    number = frame.payload[0]
    return _name(Rejection(number)) if number in set(Rejection) else f"rejected with code {number}"


def _name(rejection: Rejection) -> str:
    return f"rejected, {rejection.name.lower()}"

"""The protocol without any input or output: bytes and descriptors in, answers out.

Both clients use it. One sends `unsent` and calls `receive` from whichever thread waits, the other
from an event loop.

A descriptor arrives with the first byte of its line, but one read may also return the end of
earlier lines. Only the order is certain: the n-th descriptor belongs to the n-th line with `fds`.
"""

from __future__ import annotations

import json
import os
import uuid
from collections import deque
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Optional, Sequence, Union

from ._requests import PlainFetch, Request
from .errors import ConnectionFailed, ConnectionLost, Error, no_answer, no_descriptor, request_error

#: No answer comes near it: a page of entries has 256 KiB. What sends more is not imgd.
LONGEST_LINE = 16 * 1024 * 1024
#: The daemon never has more than one descriptor on its way before the line that it belongs to.
MOST_DESCRIPTORS = 64

#: A plain fetch, with its fields in the order of all others: the daemon does not parse a line that has the shape of
#: an earlier one, and neither is this one put together anew.
_PLAIN_LINE = '{"id":%d,"receipt":"%s","cmd":"fetch","url":%s,"deliver":"%s"}\n'
#: Made once: `json.dumps` and `json.loads` with options of their own make them for each call.
_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":")
).encode
_decode = json.JSONDecoder().raw_decode


class Descriptor:
    """A file descriptor that is closed with the object at the latest; -1 is none."""

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def fileno(self) -> int:
        """The number, -1 if it is closed."""
        return self._number

    def close(self) -> None:
        """Closes it; a second time nothing happens."""
        number, self._number = self._number, -1
        if number >= 0:
            os.close(number)

    def __enter__(self) -> Descriptor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class Progress(NamedTuple):
    """How much of a body has arrived."""

    url: str
    received: int
    #: None if the origin does not announce the length.
    expected: Optional[int]


class Answer(NamedTuple):
    """The line that ends a request, and the descriptor that came with it."""

    fields: Dict[str, Any]
    descriptor: Optional[Descriptor]


class Call:
    """One request under way on one connection."""

    __slots__ = ("identifier", "request", "size", "answer", "failure", "on_news", "_progress")

    def __init__(self, identifier: int, request: Dict[str, Any], size: int) -> None:
        self.identifier = identifier
        self.request = request
        self.size = size
        self.answer: Optional[Answer] = None
        self.failure: Optional[Error] = None
        #: Called whenever there is something new.
        self.on_news: Optional[Callable[[], None]] = None
        self._progress: Optional[Progress] = None

    @property
    def has_news(self) -> bool:
        """Whether it has ended, or has progress that nobody has taken."""
        return self.answer is not None or self.failure is not None or self._progress is not None

    @property
    def ended(self) -> bool:
        """Whether there is an answer, or will never be one."""
        return self.answer is not None or self.failure is not None

    def take_answer(self) -> Answer:
        """The answer that it was waited for; raises what went wrong."""
        answer = self.answer
        if self.failure is not None:
            raise self.failure
        if answer is None:
            raise no_answer(self.request.get("url"))
        if answer.fields.get("ok") is not True:
            raise request_error(self.request, answer.fields)
        self.answer = None
        return answer

    def take_progress(self) -> Optional[Progress]:
        """The newest progress, if it is new."""
        progress, self._progress = self._progress, None
        return progress

    def take_event(self, event: Dict[str, Any]) -> None:
        """Notes an event that came before the answer."""
        received, expected = event.get("received"), event.get("expected")
        if event["event"] == "progress" and isinstance(received, int):
            self._progress = Progress(
                self.request.get("url", ""),
                received,
                expected if isinstance(expected, int) else None,
            )
            self._tell()

    def end(self, answer: Optional[Answer], failure: Optional[Error]) -> None:
        """Notes how it has ended."""
        self.answer, self.failure = answer, failure
        self._tell()

    def _tell(self) -> None:
        if self.on_news is not None:
            self.on_news()


class Conversation:
    """One connection's requests, answers and descriptors."""

    def __init__(self, path: str) -> None:
        self._path = path
        #: What is to be written to the socket next.
        self.unsent = bytearray()
        #: Events that belong to no request: those of a subscription.
        self.events: Deque[Dict[str, Any]] = deque()
        #: Why it is over, if it is.
        self.failure: Optional[ConnectionFailed] = None
        self._calls: Dict[int, Call] = {}
        self._last_identifier = 0
        # Random but for the last group, which is the number of the request.
        self._receipts = str(uuid.uuid4())[:24] + "%012x"
        self._partial = bytearray()
        self._descriptors: Deque[Descriptor] = deque()

    def begin(self, request: Union[Request, PlainFetch]) -> Call:
        """Queues a request; a fetch has a receipt in any case, by which it can be cancelled."""
        self._last_identifier = identifier = self._last_identifier + 1
        if isinstance(request, PlainFetch):
            url, delivery = request
            receipt = self._receipts % identifier
            text = _PLAIN_LINE % (identifier, receipt, _encode(url), delivery)
            request = {"receipt": receipt, "cmd": "fetch", "url": url}
        else:
            if request["cmd"] == "fetch":
                request = {"receipt": self._receipts % identifier, **request}
            text = _encode({"id": identifier, **request}) + "\n"
        try:
            line = text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"this is not text that has an UTF-8 form: {error.object!r}") from None
        call = Call(identifier, request, len(line))
        if self.failure is not None:
            call.end(None, self.failure)
        else:
            self._calls[identifier] = call
            self.unsent += line
        return call

    @property
    def count(self) -> int:
        """How many requests have no answer yet."""
        return len(self._calls)

    def abandon(self, call: Call) -> bool:
        """Ends a call that nobody waits for any more; whether that has to be told to the daemon, to cancel a fetch."""
        if call.answer is not None and call.answer.descriptor is not None:
            call.answer.descriptor.close()
        under_way = self._calls.pop(call.identifier, None) is not None
        # Who gives up a `wait` has no wish to end the fetch.
        if not under_way or call.request["cmd"] != "fetch":
            return False
        self.begin({"cmd": "cancel", "receipt": call.request["receipt"]})
        return True

    def receive(
        self, data: Union[bytes, bytearray], descriptors: Sequence[int], cut: bool = False
    ) -> None:
        """Takes what a read has returned; no data mean the end."""
        if descriptors:
            self._descriptors.extend(Descriptor(number) for number in descriptors)
        if not data:
            return self.fail(ConnectionLost(f"imgd at {self._path} closed the connection"))
        start, end = 0, data.find(b"\n")
        while end >= 0 and self.failure is None:
            line = data[start:end]
            if self._partial:
                line, self._partial = self._partial + line, bytearray()
            self._take_line(line)
            start, end = end + 1, data.find(b"\n", end + 1)
        if start < len(data):
            self._partial += data[start:]
            if len(self._partial) > LONGEST_LINE:
                self._fail_strange(f"it sent a line of more than {LONGEST_LINE} bytes")
        if cut or len(self._descriptors) > MOST_DESCRIPTORS:
            self._fail_strange("it sent descriptors without a line")
        if self.failure is not None:
            self._drop()

    def fail(self, failure: ConnectionFailed) -> None:
        """Ends it, and all calls with it; the first reason stays."""
        if self.failure is not None:
            return
        self.failure = failure
        # In a forked process the old one may be in use for ever, by a thread that is not there.
        self.unsent = bytearray()
        self._drop()
        calls: List[Call] = list(self._calls.values())
        self._calls.clear()
        for call in calls:
            call.end(None, failure)

    def _drop(self) -> None:
        """Lets go of what has arrived and belongs to nobody any more."""
        self._partial = bytearray()
        for descriptor in self._descriptors:
            descriptor.close()
        self._descriptors.clear()

    def _take_line(self, line: Union[bytes, bytearray]) -> None:
        try:
            # A daemon that works for a client which has shut its side sends spaces meanwhile.
            text = line.decode().strip()
            if not text:
                return
            fields, end = _decode(text)
        except (ValueError, RecursionError):
            return self._fail_strange("its answer is not JSON")
        if end < len(text):
            return self._fail_strange("its answer is not JSON")
        if type(fields) is not dict:
            return self._fail_strange("its answer is not a JSON object")
        descriptor: Optional[Descriptor] = None
        if fields.get("fds"):
            if not self._descriptors:
                return self._fail_strange("its answer lacks its descriptor")
            descriptor = self._descriptors.popleft()
        if "event" in fields:
            self._take_event(fields)
        elif "id" in fields:
            identifier = fields["id"]
            call = self._calls.pop(identifier, None) if type(identifier) is int else None
            if call is not None and descriptor is not None and descriptor.fileno() < 0:
                return call.end(None, no_descriptor())
            if call is not None:
                return call.end(Answer(fields, descriptor), None)
        else:
            self._take_refusal(fields)
        # Nobody waits for this line, or it has no use for a descriptor.
        if descriptor is not None:
            descriptor.close()

    def _take_event(self, event: Dict[str, Any]) -> None:
        identifier = event.get("id")
        call = self._calls.get(identifier) if type(identifier) is int else None
        if call is not None:
            call.take_event(event)
        else:
            self.events.append(without_frame(event))

    def _take_refusal(self, fields: Dict[str, Any]) -> None:
        """Takes a line that names no request: about the connection, or a line too long to be read."""
        error = fields.get("error")
        reason = error if isinstance(error, dict) else {}
        if reason.get("code") == "line_too_long" and self._calls:
            longest = max(self._calls.values(), key=lambda call: call.size)
            del self._calls[longest.identifier]
            return longest.end(Answer(fields, None), None)
        message = reason.get("message", "the daemon gives no reason")
        self.fail(ConnectionLost(f"imgd at {self._path} closes the connection: {message}"))

    def _fail_strange(self, reason: str) -> None:
        self.fail(ConnectionFailed(f"the program at {self._path} is not imgd: {reason}"))


def without_frame(fields: Dict[str, Any]) -> Dict[str, Any]:
    """What a line says, without the fields that tell which line it is."""
    return {name: value for name, value in fields.items() if name not in ("id", "ok")}


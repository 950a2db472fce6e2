"""The protocol without any input or output: bytes and descriptors in, answers out.

Both clients use it. One writes the `outbox` and calls `receive` from whichever thread waits, the other
from an event loop.

A descriptor arrives with the first byte of its line, but one read may also return the end of
earlier lines. Only the order is certain: the n-th descriptor belongs to the n-th line with `fds`.
"""

from __future__ import annotations

import json
import re
import uuid
from collections import deque
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Optional, Sequence, Union

from ._descriptor import Descriptor
from ._requests import Asked, Handed, KnownFetch, Request, encode
from ._socket import Outbox
from .errors import ConnectionFailed, ConnectionLost, Error, no_answer, no_descriptor, request_error

#: No answer comes near it: a page of entries has 256 KiB. What sends more is not imgd.
LONGEST_LINE = 16 * 1024 * 1024
#: The daemon never has more than one descriptor on its way before the line that it belongs to.
MOST_DESCRIPTORS = 64

#: How the answer to nearly every fetch begins. The rest is parsed when somebody asks what it says.
_begins_well = re.compile(rb'\{"id":(\d{1,18}),"ok":true,"receipt":"').match
_PATH = b',"path":"'
_decode = json.JSONDecoder().raw_decode
#: A text in its quotes; mypy does not know that the function exists.
_quoted: Callable[[str], str] = getattr(json.encoder, "encode_basestring")

#: A line without its end, as it came.
Line = Union[bytes, bytearray]


class Progress(NamedTuple):
    """How much of a body has arrived."""

    url: str
    received: int
    #: None if the origin does not announce the length.
    expected: Optional[int]


class Answer:
    """The line that ends a request, and the descriptor that came with it."""

    __slots__ = ("ok", "descriptor", "_line", "_fields")

    def __init__(
        self,
        ok: bool,
        line: Line = b"",
        fields: Optional[Dict[str, Any]] = None,
    ) -> None:
        #: Whether the request was carried out.
        self.ok = ok
        self.descriptor: Optional[Descriptor] = None
        self._line = line
        self._fields = fields

    @property
    def fields(self) -> Dict[str, Any]:
        """What the line says."""
        if self._fields is None:
            try:
                self._fields = _object(self._line)
            except ValueError as error:
                raise Error(f"the answer of imgd {error}") from None
        return self._fields

    @property
    def path(self) -> object:
        """What the line says about a file, often all that is wanted of it."""
        if self._fields is None:
            # A quote inside a text has a backslash before it: so this is no part of a URL.
            start = self._line.rfind(_PATH)
            if start > 0:
                start += len(_PATH)
                end = self._line.find(b'"', start)
                text = self._line[start:end]
                if end > 0 and text.isascii() and b"\\" not in text:
                    return text.decode()
        return self.fields.get("path")


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
        if not answer.ok:
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
        self.outbox = Outbox()
        #: Events that belong to no request: those of a subscription.
        self.events: Deque[Dict[str, Any]] = deque()
        #: Why it is over, if it is.
        self.failure: Optional[ConnectionFailed] = None
        self._calls: Dict[int, Call] = {}
        self._last_identifier = 0
        # Random but for the last group, which is the number of the request.
        self._receipts = str(uuid.uuid4())[:24] + "%012x"
        # The daemon does not parse lines that differ in these parts alone, and neither are they put
        # together anew.
        self._known_line = f'{{"id":%d,"receipt":"{self._receipts}","cmd":"fetch","url":%s,%s}}\n'
        self._partial = bytearray()
        self._descriptors: Deque[Descriptor] = deque()

    def begin(self, request: Asked) -> Call:
        """Queues a request; a fetch has a receipt in any case, by which it can be cancelled."""
        file = None
        if isinstance(request, Handed):
            request, file = request
        self._last_identifier = identifier = self._last_identifier + 1
        if isinstance(request, KnownFetch):
            url, options = request
            text = self._known_line % (identifier, identifier, _quoted(url), options)
            request = {"cmd": "fetch", "url": url}
        else:
            if request["cmd"] == "fetch":
                request = {"receipt": self._receipts % identifier, **request}
            text = encode({"id": identifier, **request}) + "\n"
        try:
            line = text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"this is not text that has an UTF-8 form: {error.object!r}") from None
        call = Call(identifier, request, len(line))
        if self.failure is not None:
            call.end(None, self.failure)
        else:
            self._calls[identifier] = call
            if file is not None:
                self.outbox.attach(file, len(line))
            self.outbox.unsent += line
        return call

    @property
    def count(self) -> int:
        """How many requests have no answer yet."""
        return len(self._calls)

    def abandon(self, call: Call) -> bool:
        """Ends a call that nobody waits for any more; whether the daemon has to be told."""
        if call.answer is not None and call.answer.descriptor is not None:
            call.answer.descriptor.close()
        under_way = self._calls.pop(call.identifier, None) is not None
        # Who gives up a `wait` has no wish to end the fetch.
        if not under_way or call.request["cmd"] != "fetch":
            return False
        receipt = call.request.get("receipt") or self._receipts % call.identifier
        self.begin({"cmd": "cancel", "receipt": receipt})
        return True

    def receive(self, data: Line, descriptors: Sequence[int], cut: bool = False) -> None:
        """Takes what a read has returned; no data mean the end."""
        for number in descriptors:
            self._descriptors.append(Descriptor(number))
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
        self.outbox = Outbox()
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

    def _take_line(self, line: Line) -> None:
        known = _begins_well(line)
        if known is not None and line.endswith(b"}"):
            # A quote inside a text has a backslash before it: so this is no part of a URL.
            lends = b'"fds":[{' in line
            return self._take_answer(int(known[1]), lends, Answer(True, line))
        # A daemon that works for a client which has shut its side sends spaces meanwhile.
        if not line.strip():
            return
        try:
            fields = _object(line)
        except ValueError as error:
            return self._fail_strange(f"its answer {error}")
        lends = bool(fields.get("fds"))
        if "event" in fields:
            self._take_event(fields)
        elif "id" in fields:
            answer = Answer(fields.get("ok") is True, fields=fields)
            return self._take_answer(fields["id"], lends, answer)
        else:
            self._take_refusal(fields)
        if lends:
            self._take_descriptor()

    def _take_answer(self, identifier: object, lends: bool, answer: Answer) -> None:
        descriptor = self._take_descriptor() if lends else None
        if lends and descriptor is None:
            return
        call = self._calls.pop(identifier, None) if type(identifier) is int else None
        if call is None:
            return
        if descriptor is not None and descriptor.fileno() < 0:
            return call.end(None, no_descriptor())
        answer.descriptor = descriptor
        call.end(answer, None)

    def _take_descriptor(self) -> Optional[Descriptor]:
        """The one of the line that has just come; it is closed with the object if nobody wants it."""
        if self._descriptors:
            return self._descriptors.popleft()
        self._fail_strange("its answer lacks its descriptor")
        return None

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
            return longest.end(Answer(False, fields=fields), None)
        message = reason.get("message", "the daemon gives no reason")
        self.fail(ConnectionLost(f"imgd at {self._path} closes the connection: {message}"))

    def _fail_strange(self, reason: str) -> None:
        self.fail(ConnectionFailed(f"the program at {self._path} is not imgd: {reason}"))


def without_frame(fields: Dict[str, Any]) -> Dict[str, Any]:
    """What a line says, without the fields that tell which line it is."""
    return {name: value for name, value in fields.items() if name not in ("id", "ok")}


def _object(line: Line) -> Dict[str, Any]:
    """The object that a line is; a ValueError says what it is instead."""
    try:
        text = line.decode().strip()
        fields, end = _decode(text)
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    if end < len(text):
        raise ValueError("is not JSON")
    if not isinstance(fields, dict):
        raise ValueError("is not a JSON object")
    return fields

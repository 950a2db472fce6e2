"""All that imgd raises.

    Error
     +-- ConnectionFailed        no daemon can be reached; a ConnectionError
     |    +-- ConnectionLost     the connection broke before the answer came
     +-- NoDescriptor            this process has too many files open; an OSError
     +-- PictureGone             the file of a picture is not there any more
     +-- RequestError            the daemon refused a request
          +-- FetchError         a fetch has no picture; see the classes below
               +-- NotReadable   a file of the program's own cannot be opened; an OSError
               +-- TimedOut      one of them; a TimeoutError

Errors can be pickled, so they come out of a process pool as they are.
"""

from __future__ import annotations

import errno
import resource
from typing import Any, Dict, Optional, Tuple, Type


class Error(Exception):
    """The base of all that this package raises on purpose."""


class ConnectionFailed(Error, ConnectionError):
    """There is no daemon at the socket, or it may not be used; the message says what to do."""


class ConnectionLost(ConnectionFailed):
    """The daemon went away before it answered, twice in a row."""


class NoDescriptor(Error, OSError):
    """A picture came, and this process has no file descriptor left for it; `errno` is EMFILE."""


class PictureGone(Error):
    """The picture has no file to read its bytes from, or has it no longer."""


class RequestError(Error):
    """The daemon's answer to a request that it could not or would not carry out."""

    #: The stable name of the error, as docs/protocol.md lists them.
    code: str
    #: A sentence for people.
    message: str
    #: Whether the same request may succeed later.
    retryable: bool
    #: Further facts, such as `{"status": 404}`.
    details: Dict[str, Any]
    #: The URL that was asked for, if the request had one.
    url: Optional[str]

    def __init__(
        self,
        code: str,
        message: str,
        retryable: bool = False,
        details: Optional[Dict[str, Any]] = None,
        url: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.details = details if details is not None else {}
        self.url = url

    def __str__(self) -> str:
        place = f" [{self.url}]" if self.url else ""
        return f"{self.message} ({self.code}){place}"

    def __reduce__(self) -> Tuple[Any, ...]:
        arguments = (self.code, self.message, self.retryable, self.details, self.url)
        return type(self), arguments

    @property
    def status(self) -> Optional[int]:
        """The status with which the origin answered, if that is what went wrong."""
        status = self.details.get("status")
        return status if isinstance(status, int) else None


class FetchError(RequestError):
    """A fetch that ended without a picture, for a reason that has no class of its own."""


class Blocked(FetchError):
    """The daemon may not connect to this scheme or address."""


class Busy(FetchError):
    """Too much is under way at the daemon: wait for answers, or try again later."""


class Cancelled(FetchError):
    """Somebody cancelled the fetch."""


class DecodeFailed(FetchError):
    """The picture is damaged, beyond the limits, or of a format that cannot be decoded here."""


class HTTPError(FetchError):
    """The origin answered with an error, which `status` has."""


class NotAPicture(FetchError):
    """The body is no picture, whatever the origin calls it."""


class NotCached(FetchError):
    """The fetch was `only-if-cached`, and the cache does not have the picture."""


class NotReadable(FetchError, OSError):
    """A file of the program's own cannot be opened; `__cause__` is the reason that the system gives."""


class TimedOut(FetchError, TimeoutError):
    """The fetch, or an answer of the daemon, took too long; `details["phase"]` says where."""


class TooLarge(FetchError):
    """The body is larger than `max_bytes`, or than the daemon's own limit."""


class UnknownReceipt(FetchError):
    """The daemon has no outcome for this receipt, or no longer."""


class Unreachable(FetchError):
    """The origin could not be found or reached, or broke off."""


_classes: Dict[str, Type[FetchError]] = {
    "blocked_address": Blocked,
    "blocked_scheme": Blocked,
    "cancelled": Cancelled,
    "connect": Unreachable,
    "decode_crashed": DecodeFailed,
    "decode_failed": DecodeFailed,
    "dns": Unreachable,
    "http_status": HTTPError,
    "not_an_image": NotAPicture,
    "not_cached": NotCached,
    "offline": Unreachable,
    "queue_full": Busy,
    "shutting_down": Busy,
    "timeout": TimedOut,
    "tls": Unreachable,
    "too_large": TooLarge,
    "too_many_pixels": DecodeFailed,
    "too_many_requests": Busy,
    "truncated": Unreachable,
    "unknown_receipt": UnknownReceipt,
    "unsupported_format": DecodeFailed,
}


def no_descriptor() -> NoDescriptor:
    """The exception for a descriptor that could not be opened."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    remedy = "close pictures, or raise the limit"
    return NoDescriptor(errno.EMFILE, f"no file descriptor left ({limit}): {remedy}")


def no_answer(url: Optional[str]) -> TimedOut:
    """The exception for a request that the daemon has not answered in time, not even by giving up."""
    message = "the daemon has not answered in time"
    return TimedOut("timeout", message, True, {"phase": "answer"}, url)


def request_error(request: Dict[str, Any], answer: Dict[str, Any]) -> RequestError:
    """The exception for an answer that is not `ok`."""
    error = answer.get("error")
    fields: Dict[str, Any] = error if isinstance(error, dict) else {}
    code = str(fields.get("code", "internal"))
    kind: Type[RequestError] = RequestError
    if request["cmd"] in ("fetch", "wait"):
        kind = _classes.get(code, FetchError)
    details = fields.get("details")
    return kind(
        code,
        str(fields.get("message", "the daemon gives no reason")),
        fields.get("retryable") is True,
        details if isinstance(details, dict) else None,
        request.get("url"),
    )

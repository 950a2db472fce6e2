"""The client for programs that wait for what they ask."""

from __future__ import annotations

import itertools
import os
import threading
import time
import weakref
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Literal,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Union,
    overload,
)

from . import _requests
from ._connection import Connection
from ._conversation import Answer, Call, Progress, without_frame
from ._files import File, name, opened, separated
from ._requests import (
    Area,
    Asked,
    Cache,
    Crop,
    Deliver,
    Fit,
    Formats,
    Frames,
    Layout,
    Priority,
    PurgedTier,
    Receipt,
    Size,
    Tier,
    Topic,
)
from ._socket import Place, find_socket
from .errors import ConnectionFailed, ConnectionLost, FetchError, NotReadable, request_error
from .picture import Picture, delivered

OnProgress = Callable[[Progress], None]

#: How much longer than the daemon a client waits for an answer in which the daemon gives up.
GRACE = 2.0


class Outcome(NamedTuple):
    """How one fetch of many has ended: with a picture or with an error."""

    #: For a file its path.
    url: str
    picture: Optional[Picture]
    error: Optional[FetchError]

    def get(self) -> Picture:
        """The picture; raises the error if there is none."""
        if self.picture is None:
            assert self.error is not None
            raise self.error
        return self.picture


class Client:
    """A connection to the daemon, which is made on the first use and again when it was lost.

    Threads may share a client: their requests go over one connection at the same time. After a
    fork the child makes a connection of its own.

    A request that got no answer because the connection broke is sent once more, so a restart of the
    daemon goes unnoticed where its socket stays.
    """

    def __init__(self, socket: Optional[Place] = None, *, timeout: float = 30.0) -> None:
        """`timeout` is how long the daemon may take to answer anything but a fetch, in seconds."""
        self._path = find_socket(socket)
        self._timeout = timeout
        self._closed = False
        self._connection: Optional[Connection] = None
        self._lock = threading.Lock()
        _of_this_process.add(self)

    @property
    def socket_path(self) -> str:
        """The socket that it connects to."""
        return self._path

    # --- Fetching ---

    def fetch(
        self,
        url: Union[str, File],
        *,
        deliver: Deliver = "path",
        cache: Optional[Cache] = None,
        resize: Optional[Size] = None,
        fit: Optional[Fit] = None,
        crop: Optional[Crop] = None,
        area: Optional[Area] = None,
        background: Optional[str] = None,
        format: Optional[Formats] = None,
        quality: Optional[int] = None,
        encoded_bytes: Optional[int] = None,
        frames: Optional[Frames] = None,
        layout: Optional[Layout] = None,
        describe: bool = False,
        priority: Optional[Priority] = None,
        share: Optional[str] = None,
        tags: Union[None, str, Sequence[str]] = None,
        headers: Optional[Mapping[str, str]] = None,
        identifier: Optional[str] = None,
        ttl: Optional[int] = None,
        timeout: Optional[float] = None,
        max_bytes: Optional[int] = None,
        wait_online: bool = True,
        receipt: Optional[Receipt] = None,
        progress: Optional[OnProgress] = None,
    ) -> Picture:
        """Fetches a picture, and waits for it.

        In place of a URL it may be one that the program has: a path (`pathlib.Path`), an open file, or
        bytes. The daemon keeps it in memory alone, unless it is to have a path.

        `deliver` is `path` (a file in the cache), `bytes` or `pixels` (in memory, by a descriptor)
        or `none`; `resize` is a width, or `(width, height)`, of which one may be None. All else is as in
        docs/protocol.md. `progress` is called in this thread. A KeyboardInterrupt, an error in
        `progress` and the end of `timeout` (seconds) cancel the fetch.

        Raises FetchError, one of its subclasses, or ConnectionFailed.
        """
        subject, file = (url, None) if isinstance(url, str) else separated(url)
        request = _requests.fetch(
            subject,
            deliver,
            cache,
            resize,
            fit,
            crop,
            area,
            background,
            format,
            quality,
            encoded_bytes,
            frames,
            layout,
            describe,
            priority,
            share,
            tags,
            headers,
            identifier,
            ttl,
            timeout,
            max_bytes,
            wait_online,
            receipt,
            progress is not None,
        )
        limit = None if timeout is None else timeout + GRACE
        return delivered(self._answer(_requests.with_file(request, file), limit, progress))

    def fetch_many(
        self,
        urls: Iterable[Union[str, File]],
        *,
        at_once: int = 16,
        ordered: bool = True,
        progress: Optional[OnProgress] = None,
        **options: Any,
    ) -> Iterator[Outcome]:
        """Fetches many pictures, `at_once` of them at a time, with the options of `fetch`.

        Yields an Outcome for each URL or file, in their order or (`ordered=False`) as they come; a file that
        cannot be opened has one with the error NotReadable. `urls` may
        be endless: no more is taken of it than is needed. Leaving the loop cancels the rest.
        """
        if not 1 <= at_once <= 1000:
            raise ValueError(f"at_once is from 1 to 1000, not {at_once}")
        return self._fetch_many(iter(urls), at_once, ordered, progress, options)

    def _fetch_many(
        self,
        urls: Iterator[Union[str, File]],
        at_once: int,
        ordered: bool,
        progress: Optional[OnProgress],
        options: Dict[str, Any],
    ) -> Iterator[Outcome]:
        timeout = options.get("timeout")
        limit = None if timeout is None else timeout + GRACE
        waiting: List[_Inquiry] = []
        try:
            while True:
                for url in itertools.islice(urls, at_once - len(waiting)):
                    request: Union[Asked, NotReadable]
                    try:
                        subject, file = separated(url)
                        fetch = _requests.fetch(subject, progress=progress is not None, **options)
                        request = _requests.with_file(fetch, file)
                    except NotReadable as error:
                        request = error.with_traceback(None)
                    waiting.append(_Inquiry(self, name(url), request, limit, progress))
                if not waiting:
                    return
                ended = self._first_ended(waiting, ordered)
                waiting.remove(ended)
                yield _outcome(ended)
        finally:
            for inquiry in waiting:
                inquiry.abandon()

    def start(self, url: str, **options: Any) -> str:
        """Begins a fetch with the options of `fetch` that nobody waits for; returns its receipt.

        It continues without this client, and fills the cache; `wait` collects its outcome.
        """
        request = _requests.fetch(url, wait=False, **options)
        return str(self._ask(request)["receipt"])

    def wait(
        self,
        receipt: Receipt,
        *,
        deliver: Optional[Deliver] = None,
        timeout: Optional[float] = None,
    ) -> Picture:
        """Waits for a fetch that was begun by `start`; the end of `timeout` does not cancel it."""
        request = _requests.wait(receipt, deliver)
        return delivered(self._answer(request, timeout))

    @overload
    def cancel(self, receipt: Receipt) -> str: ...

    @overload
    def cancel(self, *, tag: str) -> int: ...

    @overload
    def cancel(self, *, all: Literal[True]) -> int: ...

    def cancel(
        self, receipt: Optional[Receipt] = None, *, tag: Optional[str] = None, all: bool = False
    ) -> Union[str, int]:
        """Cancels fetches of this user, over whichever connection they were begun.

        Returns the state in which the one with that receipt was, or how many have that tag.
        """
        answer = self._ask(_requests.cancel(receipt, tag, all))
        return str(answer["state"]) if receipt is not None else int(answer["cancelled"])

    # --- The cache ---

    def put(
        self,
        url: str,
        file: File,
        *,
        ttl: Optional[int] = None,
        tags: Union[None, str, Sequence[str]] = None,
        for_all: bool = False,
    ) -> Dict[str, Any]:
        """Keeps a picture that the program has under a URL, where `fetch` finds it.

        `ttl` is for how many seconds it is fresh; `for_all` shows it to every user, where the daemon's
        configuration lets this one do that.
        """
        return self._ask(_requests.put(url, opened(file), ttl, tags, for_all))

    def purge(
        self,
        *,
        url: Optional[str] = None,
        identifier: Optional[str] = None,
        prefix: Optional[str] = None,
        host: Optional[str] = None,
        tag: Optional[str] = None,
        older_than: Optional[int] = None,
        unused_for: Optional[int] = None,
        expired: bool = False,
        everything: bool = False,
        tier: Optional[PurgedTier] = None,
        soft: bool = False,
    ) -> Dict[str, Any]:
        """Removes the entries that match all filters; all of them with `everything=True` alone."""
        return self._ask(
            _requests.purge(
                url=url,
                identifier=identifier,
                prefix=prefix,
                host=host,
                tag=tag,
                older_than=older_than,
                unused_for=unused_for,
                expired=expired,
                everything=everything,
                tier=tier,
                soft=soft,
            )
        )

    def query(
        self, url: str, *, identifier: Optional[str] = None, describe: bool = False
    ) -> Dict[str, Any]:
        """Tells whether the cache has a picture, without fetching it: see `tier`, and `variants`."""
        return self._ask(_requests.query(url, identifier, describe))

    def entries(
        self,
        *,
        tier: Tier = "memory",
        url: Optional[str] = None,
        prefix: Optional[str] = None,
        contains: Optional[str] = None,
    ) -> Iterator[Dict[str, Any]]:
        """Lists what one tier has, a page at a time as they are needed."""
        cursor: Optional[str] = None
        while True:
            page = self._ask(_requests.entries(tier, url, prefix, contains, cursor))
            yield from page.get("entries", [])
            cursor = page.get("cursor")
            if cursor is None:
                return

    # --- The daemon ---

    def list(self) -> List[Dict[str, Any]]:
        """The fetches under way, of all clients."""
        return self._pages("list", "jobs")

    def origins(self) -> List[Dict[str, Any]]:
        """What the daemon knows of each section of its configuration and of the busiest hosts."""
        return self._pages("origins", "origins")

    def clients(self) -> List[Dict[str, Any]]:
        """The connections to the daemon, and what has been asked for over each."""
        return self._pages("clients", "clients")

    def failures(self) -> List[Dict[str, Any]]:
        """The fetches that have failed last, the newest first."""
        return self._pages("failures", "failures")

    def fleet(self) -> List[Dict[str, Any]]:
        """The hosts that share a server with the daemon's; none for a machine alone."""
        return self._pages("fleet", "hosts")

    def _pages(self, command: str, key: str) -> List[Dict[str, Any]]:
        members: List[Dict[str, Any]] = []
        cursor: Optional[str] = None
        while True:
            page = self._ask(_requests.page(command, cursor))
            members += page.get(key, [])
            cursor = page.get("cursor")
            if cursor is None:
                return members

    def stats(self) -> Dict[str, Any]:
        """The daemon's counters, and its present state."""
        return self._ask({"cmd": "stats"})

    def hello(self) -> Dict[str, Any]:
        """Version, features and limits of the daemon."""
        return self._ask({"cmd": "hello"})

    def config(self) -> Dict[str, Dict[str, Any]]:
        """The configuration in force, by section and key."""
        sections: Dict[str, Dict[str, Any]] = self._ask({"cmd": "config"})["config"]
        return sections

    def reload(self) -> Dict[str, Any]:
        """Makes the daemon read its configuration again; the answer has what has changed."""
        return self._ask({"cmd": "reload"})

    def ping(self) -> None:
        """Returns if the daemon answers."""
        self._ask({"cmd": "ping"})

    def subscribe(self, *topics: Topic) -> Subscription:
        """Events of the whole daemon, from now on: `jobs`, `cache`, `pressure`, `config`."""
        return Subscription(self._path, topics, self._timeout)

    # --- The connection ---

    def close(self) -> None:
        """Closes the connection; what waits for an answer, in other threads, fails."""
        with self._lock:
            self._closed = True
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connected(self) -> Connection:
        """The connection, made anew if there is none or it was lost."""
        present = self._connection
        if present is not None and not present.is_over:
            return present
        with self._lock:
            if self._closed:
                raise ConnectionFailed("the client was closed")
            if self._connection is None or self._connection.is_over:
                self._connection = Connection(self._path, self._timeout)
            return self._connection

    def _after_fork(self) -> None:
        """In the child: another thread of the parent may have held the lock."""
        self._lock = threading.Lock()
        self._connection = None

    def _ask(self, request: Asked) -> Dict[str, Any]:
        return without_frame(self._answer(request, self._timeout).fields)

    def _answer(
        self,
        request: Asked,
        limit: Optional[float],
        on_progress: Optional[OnProgress] = None,
    ) -> Answer:
        deadline = None if limit is None else time.monotonic() + limit
        try:
            return self._attempt(request, deadline, on_progress)
        except ConnectionLost:
            pass
        return self._attempt(request, deadline, on_progress)

    def _attempt(
        self,
        request: Asked,
        deadline: Optional[float],
        on_progress: Optional[OnProgress],
    ) -> Answer:
        connection = self._connected()
        call = connection.begin(request)
        try:
            connection.wait(call, deadline)
            while (progress := call.take_progress()) is not None:
                if on_progress is not None:
                    on_progress(progress)
                if deadline is not None and time.monotonic() >= deadline:
                    break
                connection.wait(call, deadline)
            return call.take_answer()
        except BaseException:
            connection.abandon(call)
            raise

    def _first_ended(self, inquiries: Sequence[_Inquiry], ordered: bool) -> _Inquiry:
        """Waits for the first of them, or for any."""
        while True:
            if ordered:
                # Most often it is there already, and looking at all the others takes longer.
                inquiries[0].tell_progress()
                if inquiries[0].has_ended():
                    return inquiries[0]
            for inquiry in inquiries:
                inquiry.tell_progress()
            under_way = []
            for place, inquiry in enumerate(inquiries):
                if not inquiry.has_ended():
                    under_way.append(inquiry)
                elif place == 0 or not ordered:
                    return inquiry
            _wait_for_news(under_way)


class _Inquiry:
    """A request until it has its answer, over one connection or two."""

    def __init__(
        self,
        client: Client,
        subject: str,
        request: Union[Asked, NotReadable],
        limit: Optional[float],
        on_progress: Optional[OnProgress] = None,
    ) -> None:
        self.subject = subject
        self.request = request
        self.deadline = None if limit is None else time.monotonic() + limit
        self._client = client
        self._on_progress = on_progress
        self._repeated = False
        self.connection: Connection
        self.call: Call
        self._send()

    def _send(self) -> None:
        self.connection = self._client._connected()
        if isinstance(self.request, NotReadable):
            # It has ended before it was asked, and waits for its place among the outcomes.
            self.call = Call(0, {}, 0)
            self.call.end(None, self.request)
        else:
            self.call = self.connection.begin(self.request)

    def tell_progress(self) -> None:
        progress = self.call.take_progress()
        if progress is not None and self._on_progress is not None:
            self._on_progress(progress)

    def has_ended(self) -> bool:
        """Whether `answer` has something to return or to raise; sends it again if that may help."""
        if isinstance(self.call.failure, ConnectionLost) and not self._repeated:
            self._repeated = True
            self._send()
        return self.call.ended or (self.deadline is not None and time.monotonic() >= self.deadline)

    def abandon(self) -> None:
        """Cancels what is still under way, and closes what nobody has taken."""
        self.connection.abandon(self.call)


def _wait_for_news(inquiries: Sequence[_Inquiry]) -> None:
    # After a loss each of them moves to the new connection, since all of them have news.
    connection = inquiries[0].connection
    calls = [inquiry.call for inquiry in inquiries if inquiry.connection is connection]
    deadlines = [inquiry.deadline for inquiry in inquiries if inquiry.deadline is not None]
    connection.wait_for_any(calls, min(deadlines, default=None))


def _outcome(ended: _Inquiry) -> Outcome:
    try:
        return Outcome(ended.subject, delivered(ended.call.take_answer()), None)
    except FetchError as error:
        # The frames of a traceback hold the file open that was handed in.
        return Outcome(ended.subject, None, error.with_traceback(None))
    finally:
        ended.abandon()


class Subscription:
    """An iterator over the daemon's events, each a dictionary, over a connection of its own.

    It ends when it is closed; when the daemon goes it raises ConnectionLost.
    """

    def __init__(self, path: str, topics: Sequence[Topic], timeout: float) -> None:
        request = _requests.subscribe(topics)
        self._closed = False
        self._connection = Connection(path, timeout)
        call = self._connection.begin(request)
        self._connection.wait(call, time.monotonic() + timeout)
        if call.answer is None or not call.answer.ok:
            self.close()
            if call.answer is not None:
                raise request_error(request, call.answer.fields)
            raise call.failure or ConnectionLost(f"imgd at {path} does not answer")
        #: The present state at the beginning: `downloads`, `memory` and `jobs`.
        self.snapshot: Dict[str, Any] = call.answer.fields.get("snapshot", {})

    def __iter__(self) -> Subscription:
        return self

    def __next__(self) -> Dict[str, Any]:
        try:
            return self._connection.next_event()
        except ConnectionFailed:
            if self._closed:
                raise StopIteration from None
            raise

    def close(self) -> None:
        """Ends it, also for a thread that waits for the next event."""
        self._closed = True
        self._connection.close()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_of_this_process: "weakref.WeakSet[Client]" = weakref.WeakSet()


def _renew_clients() -> None:
    for client in list(_of_this_process):
        client._after_fork()


os.register_at_fork(after_in_child=_renew_clients)

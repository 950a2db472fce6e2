"""The client for asyncio.

    async with imgd.aio.Client() as client:
        pictures = await asyncio.gather(*(client.fetch(url) for url in urls))

All requests go over one connection at the same time. A task that is cancelled cancels its fetch.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import os
import socket as sockets
from typing import (
    Any,
    AsyncIterator,
    Callable,
    Dict,
    Iterable,
    List,
    Literal,
    Mapping,
    Optional,
    Sequence,
    Union,
    overload,
)

from . import _requests, _socket
from ._conversation import Answer, Call, Conversation, Progress, without_frame
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
from .client import GRACE, OnProgress, Outcome
from .errors import ConnectionFailed, ConnectionLost, FetchError, TimedOut, no_answer, request_error
from .picture import Picture, delivered

__all__ = ["Client", "Outcome", "Picture", "Progress", "Subscription"]

#: So many events may wait for a program before its connection is not read any more; the daemon
#: then counts what it drops.
_MOST_EVENTS = 1000


#: Another object after a fork: to compare it costs no call of the system.
_this_process = object()


def _note_fork() -> None:
    global _this_process
    _this_process = object()


os.register_at_fork(after_in_child=_note_fork)


class _Connection:
    """A socket to the daemon on an event loop, and the requests under way on it."""

    def __init__(self, path: str, socket: sockets.socket) -> None:
        self.loop = asyncio.get_running_loop()
        self.process = _this_process
        self.conversation = Conversation(path)
        #: Called when something has arrived.
        self.on_arrival: Callable[[], None] = lambda: None
        self._socket = socket
        self._buffer = bytearray(_socket.CHUNK)
        self._reads = False
        self._writes = False
        self._will_flush = False
        self.resume()

    @property
    def is_over(self) -> bool:
        return self.conversation.failure is not None

    def begin(self, request: Asked) -> Call:
        call = self.conversation.begin(request)
        if self.conversation.count == 1:
            self._flush()
        elif not self._will_flush:
            # What other tasks begin until then goes with it, in one call.
            self._will_flush = True
            self.loop.call_soon(self._flush)
        return call

    def abandon(self, call: Call) -> None:
        if self.conversation.abandon(call):
            self._flush()

    def pause(self) -> None:
        """Leaves what arrives to the kernel."""
        if self._reads:
            self._reads = False
            self.loop.remove_reader(self._socket)

    def resume(self) -> None:
        if not self._reads and not self.is_over:
            self._reads = True
            self.loop.add_reader(self._socket, self._read)

    def close(self, reason: ConnectionFailed) -> None:
        self.conversation.fail(reason)
        # A loop that is closed, or that of a parent process, has nothing to be told.
        if not self.loop.is_closed() and self.process is _this_process:
            self.pause()
            self._stop_writing()
        self._socket.close()

    def _read(self) -> None:
        try:
            count, descriptors, cut = _socket.receive(self._socket, self._buffer, _socket.AT_ONCE)
        except BlockingIOError:
            return
        except OSError as error:
            self.close(ConnectionLost(f"the connection to imgd broke: {error}"))
        else:
            self.conversation.receive(self._buffer[:count], descriptors, cut)
        if self.conversation.failure is not None:
            self.close(self.conversation.failure)
        self.on_arrival()

    def _flush(self) -> None:
        self._will_flush = False
        if self.is_over:
            return
        outbox = self.conversation.outbox
        try:
            outbox.write(self._socket)
        except BlockingIOError:
            if not self._writes:
                self._writes = True
                self.loop.add_writer(self._socket, self._flush)
            return
        except OSError:
            # A daemon that hangs up may have said why: that is still to be read.
            outbox.clear()
        self._stop_writing()

    def _stop_writing(self) -> None:
        if self._writes:
            self._writes = False
            self.loop.remove_writer(self._socket)


async def _connect(path: str, timeout: float) -> _Connection:
    loop = asyncio.get_running_loop()
    socket = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
    try:
        socket.setblocking(False)
        try:
            socket.connect(path)
        except BlockingIOError:
            # Many connect at once: the kernel makes them wait, and has no other way to tell.
            socket.close()
            socket = await loop.run_in_executor(None, _socket.connect, path, timeout)
        return _Connection(path, socket)
    except ConnectionFailed:
        raise
    except OSError as error:
        socket.close()
        raise _socket.connection_failed(path, error) from None
    except BaseException:
        socket.close()
        raise


def _wake(waiting: "asyncio.Future[None]") -> None:
    # There may be more news before the task runs, or it was cancelled meanwhile.
    if not waiting.done():
        waiting.set_result(None)


class Client:
    """A connection to the daemon, which is made on the first use and again when it was lost.

    It belongs to one event loop at a time. A request that got no answer because the connection
    broke is sent once more.
    """

    def __init__(self, socket: Optional[Place] = None, *, timeout: float = 30.0) -> None:
        """`timeout` is how long the daemon may take to answer anything but a fetch, in seconds."""
        self._path = find_socket(socket)
        self._timeout = timeout
        self._closed = False
        self._connection: Optional[_Connection] = None

    @property
    def socket_path(self) -> str:
        """The socket that it connects to."""
        return self._path

    # --- Fetching ---

    async def fetch(
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
        """Fetches a picture, as `imgd.Client.fetch` does.

        `progress` is an ordinary function, called from the event loop. If it raises, the fetch is
        cancelled, and raises the same.
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
        return delivered(await self._answer(_requests.with_file(request, file), limit, progress))

    async def fetch_many(
        self,
        urls: Iterable[Union[str, File]],
        *,
        at_once: int = 16,
        ordered: bool = True,
        **options: Any,
    ) -> AsyncIterator[Outcome]:
        """Fetches many pictures, `at_once` of them at a time, with the options of `fetch`.

        Yields an Outcome for each URL or file, as `imgd.Client.fetch_many` does. Leave the loop early only
        with `contextlib.aclosing`, which cancels the rest at once.
        """
        if not 1 <= at_once <= 1000:
            raise ValueError(f"at_once is from 1 to 1000, not {at_once}")
        waiting: List["asyncio.Task[Outcome]"] = []
        rest = iter(urls)
        try:
            while True:
                for url in itertools.islice(rest, at_once - len(waiting)):
                    waiting.append(asyncio.ensure_future(self._outcome(url, options)))
                if not waiting:
                    return
                await asyncio.wait(
                    waiting[:1] if ordered else waiting, return_when=asyncio.FIRST_COMPLETED
                )
                ended = next(task for task in waiting if task.done())
                waiting.remove(ended)
                yield ended.result()
        finally:
            for task in waiting:
                task.cancel()
            for result in await asyncio.gather(*waiting, return_exceptions=True):
                if isinstance(result, Outcome) and result.picture is not None:
                    result.picture.close()

    async def _outcome(self, url: Union[str, File], options: Dict[str, Any]) -> Outcome:
        try:
            return Outcome(name(url), await self.fetch(url, **options), None)
        except FetchError as error:
            # The frames of a traceback hold the file open that was handed in.
            return Outcome(name(url), None, error.with_traceback(None))

    async def start(self, url: str, **options: Any) -> str:
        """Begins a fetch with the options of `fetch` that nobody waits for; returns its receipt.

        It continues without this client, and fills the cache; `wait` collects its outcome.
        """
        request = _requests.fetch(url, wait=False, **options)
        return str((await self._ask(request))["receipt"])

    async def wait(
        self,
        receipt: Receipt,
        *,
        deliver: Optional[Deliver] = None,
        timeout: Optional[float] = None,
    ) -> Picture:
        """Waits for a fetch that was begun by `start`; the end of `timeout` does not cancel it."""
        return delivered(await self._answer(_requests.wait(receipt, deliver), timeout))

    @overload
    async def cancel(self, receipt: Receipt) -> str: ...

    @overload
    async def cancel(self, *, tag: str) -> int: ...

    @overload
    async def cancel(self, *, all: Literal[True]) -> int: ...

    async def cancel(
        self, receipt: Optional[Receipt] = None, *, tag: Optional[str] = None, all: bool = False
    ) -> Union[str, int]:
        """Cancels fetches of this user, over whichever connection they were begun.

        Returns the state in which the one with that receipt was, or how many have that tag.
        """
        answer = await self._ask(_requests.cancel(receipt, tag, all))
        return str(answer["state"]) if receipt is not None else int(answer["cancelled"])

    # --- The cache ---

    async def put(
        self,
        url: str,
        file: File,
        *,
        ttl: Optional[int] = None,
        tags: Union[None, str, Sequence[str]] = None,
        for_all: bool = False,
    ) -> Dict[str, Any]:
        """Keeps a picture that the program has under a URL, as `imgd.Client.put` does."""
        return await self._ask(_requests.put(url, opened(file), ttl, tags, for_all))

    async def purge(
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
        return await self._ask(
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

    async def query(
        self, url: str, *, identifier: Optional[str] = None, describe: bool = False
    ) -> Dict[str, Any]:
        """Tells whether the cache has a picture, without fetching it: see `tier`, and `variants`."""
        return await self._ask(_requests.query(url, identifier, describe))

    async def entries(
        self,
        *,
        tier: Tier = "memory",
        url: Optional[str] = None,
        prefix: Optional[str] = None,
        contains: Optional[str] = None,
    ) -> AsyncIterator[Dict[str, Any]]:
        """Lists what one tier has, a page at a time as they are needed."""
        cursor: Optional[str] = None
        while True:
            page = await self._ask(_requests.entries(tier, url, prefix, contains, cursor))
            for entry in page.get("entries", []):
                yield entry
            cursor = page.get("cursor")
            if cursor is None:
                return

    # --- The daemon ---

    async def list(self) -> List[Dict[str, Any]]:
        """The fetches under way, of all clients."""
        return await self._pages("list", "jobs")

    async def origins(self) -> List[Dict[str, Any]]:
        """What the daemon knows of each section of its configuration and of the busiest hosts."""
        return await self._pages("origins", "origins")

    async def clients(self) -> List[Dict[str, Any]]:
        """The connections to the daemon, and what has been asked for over each."""
        return await self._pages("clients", "clients")

    async def failures(self) -> List[Dict[str, Any]]:
        """The fetches that have failed last, the newest first."""
        return await self._pages("failures", "failures")

    async def fleet(self) -> List[Dict[str, Any]]:
        """The hosts that share a server with the daemon's; none for a machine alone."""
        return await self._pages("fleet", "hosts")

    async def _pages(self, command: str, key: str) -> List[Dict[str, Any]]:
        members: List[Dict[str, Any]] = []
        cursor: Optional[str] = None
        while True:
            page = await self._ask(_requests.page(command, cursor))
            members += page.get(key, [])
            cursor = page.get("cursor")
            if cursor is None:
                return members

    async def stats(self) -> Dict[str, Any]:
        """The daemon's counters, and its present state."""
        return await self._ask({"cmd": "stats"})

    async def hello(self) -> Dict[str, Any]:
        """Version, features and limits of the daemon."""
        return await self._ask({"cmd": "hello"})

    async def config(self) -> Dict[str, Dict[str, Any]]:
        """The configuration in force, by section and key."""
        sections: Dict[str, Dict[str, Any]] = (await self._ask({"cmd": "config"}))["config"]
        return sections

    async def reload(self) -> Dict[str, Any]:
        """Makes the daemon read its configuration again; the answer has what has changed."""
        return await self._ask({"cmd": "reload"})

    async def ping(self) -> None:
        """Returns if the daemon answers."""
        await self._ask({"cmd": "ping"})

    def subscribe(self, *topics: Topic) -> Subscription:
        """Events of the whole daemon: `jobs`, `cache`, `pressure`, `config`.

        They begin with the first use of the subscription, or with `async with`.
        """
        return Subscription(self._path, topics, self._timeout)

    # --- The connection ---

    async def close(self) -> None:
        """Closes the connection; what waits for an answer, in other tasks, fails."""
        self._closed = True
        self._leave(ConnectionFailed("the client was closed"))

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            self._leave(ConnectionFailed("the client is gone"))

    def _leave(self, reason: ConnectionFailed) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close(reason)

    async def _connected(self) -> _Connection:
        """The connection, made anew if there is none, it was lost, or it has another loop."""
        if self._closed:
            raise ConnectionFailed("the client was closed")
        present, loop = self._connection, asyncio.get_running_loop()
        if present is not None and (
            present.loop is not loop or present.process is not _this_process
        ):
            if present.loop.is_running() and present.process is _this_process:
                raise RuntimeError("the client is in use on another event loop")
            self._leave(ConnectionLost("the client went to another event loop"))
            present = None
        if present is not None and not present.is_over:
            return present
        connection = await _connect(self._path, self._timeout)
        if self._closed:
            connection.close(ConnectionFailed("the client was closed"))
            raise ConnectionFailed("the client was closed")
        # Another task may have been faster.
        if self._connection is not None and not self._connection.is_over:
            connection.close(ConnectionFailed("there is another connection"))
            return self._connection
        self._connection = connection
        return connection

    async def _ask(self, request: Asked) -> Dict[str, Any]:
        return without_frame((await self._answer(request, self._timeout)).fields)

    async def _answer(
        self,
        request: Asked,
        limit: Optional[float],
        on_progress: Optional[OnProgress] = None,
    ) -> Answer:
        if limit is None:
            return await self._answer_in_time(request, on_progress)
        try:
            return await asyncio.wait_for(self._answer_in_time(request, on_progress), limit)
        except TimedOut:
            # One of the daemon's is a TimeoutError as well.
            raise
        except asyncio.TimeoutError:
            raise no_answer(_requests.url_of(request)) from None

    async def _answer_in_time(
        self, request: Asked, on_progress: Optional[OnProgress]
    ) -> Answer:
        try:
            return await self._attempt(request, on_progress)
        except ConnectionLost:
            return await self._attempt(request, on_progress)

    async def _attempt(
        self, request: Asked, on_progress: Optional[OnProgress]
    ) -> Answer:
        connection = await self._connected()
        call = connection.begin(request)
        try:
            while not call.ended:
                news = connection.loop.create_future()
                call.on_news = functools.partial(_wake, news)
                await news
                progress = call.take_progress()
                if progress is not None and on_progress is not None:
                    on_progress(progress)
            return call.take_answer()
        except BaseException:
            connection.abandon(call)
            raise


class Subscription:
    """An asynchronous iterator over the daemon's events, each a dictionary.

    It has a connection of its own. It ends when it is closed; when the daemon goes it raises
    ConnectionLost.
    """

    def __init__(self, path: str, topics: Sequence[Topic], timeout: float) -> None:
        self._path = path
        self._request = _requests.subscribe(topics)
        self._timeout = timeout
        self._closed = False
        self._connection: Optional[_Connection] = None
        self._arrived: Optional[asyncio.Event] = None
        #: The present state at the beginning: `downloads`, `memory` and `jobs`.
        self.snapshot: Dict[str, Any] = {}

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Dict[str, Any]:
        if self._closed:
            raise StopAsyncIteration
        connection = await self._begun()
        events = connection.conversation.events
        assert self._arrived is not None
        while not events:
            if self._closed:
                raise StopAsyncIteration
            if connection.conversation.failure is not None:
                raise connection.conversation.failure
            self._arrived.clear()
            connection.resume()
            await self._arrived.wait()
        return events.popleft()

    async def close(self) -> None:
        """Ends it, also for a task that waits for the next event."""
        self._end()

    async def __aenter__(self) -> Subscription:
        await self._begun()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._end()

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            self._end()

    def _end(self) -> None:
        self._closed = True
        if self._connection is not None:
            self._connection.close(ConnectionFailed("the subscription was closed"))
        if self._arrived is not None:
            self._arrived.set()

    async def _begun(self) -> _Connection:
        if self._connection is not None:
            return self._connection
        connection = await _connect(self._path, self._timeout)
        arrived = asyncio.Event()

        def note_arrival() -> None:
            if len(connection.conversation.events) >= _MOST_EVENTS:
                connection.pause()
            arrived.set()

        call = connection.begin(self._request)
        connection.on_arrival = note_arrival
        try:
            while not call.ended:
                arrived.clear()
                await asyncio.wait_for(arrived.wait(), self._timeout)
        except BaseException as error:
            connection.close(ConnectionLost("the daemon does not answer"))
            if isinstance(error, asyncio.TimeoutError):
                raise ConnectionLost(f"imgd at {self._path} does not answer") from None
            raise
        if call.answer is None or not call.answer.ok:
            connection.close(ConnectionLost("the daemon refused the subscription"))
            if call.answer is not None:
                raise request_error(self._request, call.answer.fields)
            raise call.failure or ConnectionLost("there is no answer")
        self.snapshot = call.answer.fields.get("snapshot", {})
        self._connection, self._arrived = connection, arrived
        return connection

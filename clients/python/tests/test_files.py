"""Pictures that the program has: how they go to the daemon, and what becomes of them."""

from __future__ import annotations

import array
import asyncio
import io
import json
import os
import socket
import tempfile
import unittest
from pathlib import Path
from typing import Any, Iterator, List, Tuple

import imgd
import imgd.aio
from imgd import _requests
from imgd._conversation import Conversation
from imgd._files import opened

from .stage import StageTest, open_descriptors, png
from .test_strangers import Stranger


def received(connection: socket.socket) -> List[Tuple[bytes, bytes]]:
    """The reads that the kernel makes of what was sent, each with what is in its file."""
    reads: List[Tuple[bytes, bytes]] = []
    while True:
        try:
            data, rights, _, _ = connection.recvmsg(1 << 20, 1024, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return reads
        numbers = array.array("i", b"".join(content for _, _, content in rights))
        contents = [os.pread(number, 1000, 0) for number in numbers]
        for number in numbers:
            os.close(number)
        reads.append((data, b"".join(contents)))


class SendingTests(unittest.TestCase):
    def setUp(self) -> None:
        self.before = open_descriptors()
        self.near, self.far = socket.socketpair()
        self.near.setblocking(False)
        self.conversation = Conversation("/the/socket")

    def tearDown(self) -> None:
        self.near.close()
        self.far.close()
        del self.conversation
        self.assertEqual(open_descriptors(), self.before)

    def test_a_message_ends_with_the_line_of_its_file(self) -> None:
        expected = {}
        for number in range(60):
            request = _requests.fetch("fd:" if number % 3 else "http://h/", share="s" * (number * 40))
            content = b"%d" % number if number % 3 else b""
            call = self.conversation.begin(
                _requests.with_file(request, opened(content) if content else None)
            )
            expected[call.identifier] = content
        seen = {}
        while self.conversation.outbox.unsent:
            try:
                self.conversation.outbox.write(self.near)
            except BlockingIOError:
                pass
            for data, content in received(self.far):
                lines = data.splitlines()
                for line in lines:
                    seen[json.loads(line)["id"]] = b""
                seen[json.loads(lines[-1])["id"]] = content
        self.assertEqual(seen, expected)

    def test_a_line_that_is_sent_in_pieces(self) -> None:
        self.near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        for number in range(20):
            request = _requests.fetch("fd:", headers={"X": "x" * 9_000})
            self.conversation.begin(_requests.with_file(request, opened(b"%d" % number)))
        data, contents = b"", []
        while self.conversation.outbox.unsent:
            try:
                self.conversation.outbox.write(self.near)
            except BlockingIOError:
                pass
            for part, content in received(self.far):
                data += part
                if content:
                    # The line that the last byte of the read belongs to.
                    contents.append((data.count(b"\n", 0, len(data) - 1), content))
        self.assertEqual(contents, [(number, b"%d" % number) for number in range(20)])

    def test_who_gives_up_leaves_nothing_open(self) -> None:
        request = _requests.with_file(_requests.fetch("fd:"), opened(b"x"))
        self.conversation.begin(request)
        self.conversation.fail(imgd.ConnectionFailed("the end"))
        del request

    def test_only_a_path_is_stored(self) -> None:
        for deliver in ("path", "bytes", "pixels", "none"):
            for receipt in (None, "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"):
                asked: Any = {"deliver": deliver, "receipt": receipt}
                file = opened(b"x")
                self.conversation.begin(_requests.with_file(_requests.fetch("fd:", **asked), file))
                line = json.loads(self.conversation.outbox.unsent)
                self.conversation.outbox.clear()
                self.assertEqual(line.get("store"), "all" if deliver == "path" else None)

    def test_what_is_no_file(self) -> None:
        something: Any = 7
        with self.assertRaisesRegex(TypeError, "a picture a path, a file or bytes, not int: 7$"):
            opened(something)
        with self.assertRaises(FileNotFoundError):
            opened(Path("/nonexistent/a.png"))


class RepeatTests(unittest.TestCase):
    def test_a_file_goes_with_each_attempt(self) -> None:
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        handed: List[bytes] = []

        def script(connection: socket.socket) -> None:
            data, rights, _, _ = connection.recvmsg(1 << 16, 1024)
            (number,) = array.array("i", rights[0][2])
            handed.append(os.pread(number, 100, 0))
            os.close(number)
            if len(handed) % 2 == 0:
                answer = {"id": json.loads(data)["id"], "ok": True, "format": "png"}
                connection.send(json.dumps(answer).encode() + b"\n")
                connection.recv(1)

        async def fetch_async(path: str) -> str:
            async with imgd.aio.Client(path) as client:
                return (await client.fetch(b"two", deliver="none")).format

        stranger = Stranger(place.name, script)
        try:
            with imgd.Client(stranger.path) as client:
                self.assertEqual(client.fetch(b"one", deliver="none").format, "png")
            self.assertEqual(asyncio.run(fetch_async(stranger.path)), "png")
        finally:
            stranger.close()
        self.assertEqual(handed, [b"one", b"one", b"two", b"two"])


class OwnPictureTests(StageTest):
    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)
        self.client = imgd.Client(self.daemon.socket)
        self.addCleanup(self.client.close)

    def write(self, name: str, *size: int) -> Path:
        path = self.place / name
        path.write_bytes(png(*size))
        return path

    def test_all_that_stands_for_a_picture(self) -> None:
        path = self.write("a.png", 30, 20)
        content = path.read_bytes()
        with open(path, "rb") as file:
            file.seek(7)
            kinds: List[Any] = [file, path, content, bytearray(content), memoryview(content)]
            for kind in [*kinds, io.BytesIO(content)]:
                with self.subTest(type(kind)):
                    pixels = self.client.fetch(kind, deliver="pixels").pixels()
                    self.assertEqual((pixels.size, bytes(pixels.buffer)[(5 * 30 + 4) * 4]), ((30, 20), 4))
            self.assertEqual(file.tell(), 7, "it is the program's own")
        before = open_descriptors()
        self.assertEqual(self.client.fetch(path, deliver="bytes").bytes(), content)
        self.assertEqual(open_descriptors(), before)

    def test_a_file_in_the_cache_is_made_where_its_path_is_wanted(self) -> None:
        path = self.write("a.png", 31, 20)
        picture = self.client.fetch(path)
        self.assertNotEqual(picture.path, str(path))
        self.assertEqual(Path(picture).read_bytes(), path.read_bytes())

    def test_many_at_once(self) -> None:
        paths = [self.write(f"{n}.png", 40 + n, 20) for n in range(40)]
        broken = self.place / "broken.png"
        broken.write_bytes(b"no picture")
        outcomes = list(self.client.fetch_many([*paths, broken], at_once=20, deliver="none"))
        self.assertEqual([outcome.url for outcome in outcomes], [*map(str, paths), str(broken)])
        self.assertEqual([outcome.get().width for outcome in outcomes[:-1]], list(range(40, 80)))
        self.assertIsInstance(outcomes[-1].error, imgd.NotAPicture)

    def test_outcomes_hold_no_file_open(self) -> None:
        broken = self.place / "broken.png"
        broken.write_bytes(b"no picture")
        files = [broken, self.place / "missing"] * 20

        async def fetch() -> List[imgd.Outcome]:
            async with imgd.aio.Client(self.daemon.socket) as client:
                return [o async for o in client.fetch_many(files)]

        self.client.ping()
        before = open_descriptors()
        outcomes = [*self.client.fetch_many(files), *asyncio.run(fetch())]
        self.assertEqual(open_descriptors(), before)
        self.assertEqual(sum(outcome.error is not None for outcome in outcomes), 80)

    def test_what_cannot_be_opened_is_an_outcome_of_its_own(self) -> None:
        path = self.write("a.png", 40, 20)
        closed = open(path, "rb")
        closed.close()
        gone = io.BytesIO(png())
        gone.close()
        bad: List[Any] = [self.place / "missing", closed, gone, Path("a\0b"), io.StringIO("text")]
        names = [str(path), str(bad[0]), str(path), "fd:", "a\0b", "fd:", str(path)]

        async def fetch() -> List[imgd.Outcome]:
            async with imgd.aio.Client(self.daemon.socket) as client:
                return [o async for o in client.fetch_many(subjects(), deliver="none")]

        def subjects() -> Iterator[Any]:
            yield path
            yield from bad
            yield path

        for at_once in (1, 16):
            many = self.client.fetch_many(subjects(), at_once=at_once, deliver="none")
            for outcomes in (list(many), asyncio.run(fetch())):
                self.assertEqual([o.url for o in outcomes], names)
                self.assertEqual([outcomes[0].get().width, outcomes[-1].get().width], [40, 40])
                for outcome in outcomes[1:-1]:
                    self.assertIsInstance(outcome.error, imgd.NotReadable)
        self.assertEqual(len(list(self.client.fetch_many(subjects(), ordered=False))), len(names))
        for subject in bad:
            with self.assertRaises(imgd.NotReadable):
                self.client.fetch(subject)
        with self.assertRaisesRegex(OSError, "No such file .*not_readable") as missing:
            self.client.fetch(bad[0])
        self.assertIsInstance(missing.exception.__cause__, FileNotFoundError)

    def test_tasks(self) -> None:
        paths = [self.write(f"{n}.png", 90 + n, 20) for n in range(40)]

        async def fetch() -> List[int]:
            async with imgd.aio.Client(self.daemon.socket) as client:
                pictures = await asyncio.gather(*(client.fetch(p, deliver="none") for p in paths))
                outcomes = [o async for o in client.fetch_many(paths, deliver="none")]
                url = self.origin.url(self.path())
                put = await client.put(url, paths[0], ttl=60, tags="mine")
                again = await client.fetch(url, cache="only-if-cached")
                return [p.width for p in pictures] + [o.get().width for o in outcomes] + [
                    put["width"], again.width
                ]

        widths = list(range(90, 130))
        self.assertEqual(asyncio.run(fetch()), [*widths, *widths, 90, 90])

    def test_put(self) -> None:
        url = self.origin.url(self.path())
        answer = self.client.put(url, png(12, 13), ttl=60, tags=["mine"])
        self.assertEqual((answer["format"], answer["width"], answer["height"]), ("png", 12, 13))
        self.assertEqual(self.client.fetch(url, deliver="bytes").bytes(), png(12, 13))
        self.client.purge(tag="mine")
        with self.assertRaises(imgd.NotCached):
            self.client.fetch(url, cache="only-if-cached")
        self.assertEqual(self.origin.count(self.path()), 0)

    def test_what_is_no_picture_in_a_file(self) -> None:
        fifo = self.place / "fifo"
        os.mkfifo(fifo)
        for path in (fifo, self.place, Path("/dev/zero")):
            with self.subTest(path), self.assertRaises(imgd.FetchError):
                self.client.fetch(path)
        with self.assertRaises(imgd.NotAPicture):
            self.client.fetch(b"no picture")

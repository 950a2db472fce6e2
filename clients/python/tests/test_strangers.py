"""Programs at the socket that are not imgd, or not as it should be: no mistake of theirs hurts."""

from __future__ import annotations

import array
import asyncio
import os
import re
import socket
import tempfile
import threading
import unittest
from typing import Callable, Optional

import imgd
import imgd.aio

from .stage import LONG, open_descriptors

Script = Callable[[socket.socket], None]


class Stranger:
    """Listens at a socket, and runs a script for each connection."""

    def __init__(self, place: str, script: Script) -> None:
        self.path = f"{place}/socket"
        self.connections = 0
        self._script = script
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            with connection:
                try:
                    self._script(connection)
                except OSError:
                    # The client has hung up, as it should.
                    pass


def identifier(connection: socket.socket) -> int:
    """The id of the request that comes next."""
    found = re.search(rb'"id":(\d+)', connection.recv(65536))
    return int(found.group(1)) if found else 0


def answer(connection: socket.socket, text: bytes, descriptors: int = 0) -> None:
    """Sends a line with ID replaced, and so many descriptors with its first byte."""
    line = text.replace(b"ID", str(identifier(connection)).encode()) + b"\n"
    files = [os.memfd_create("stranger") for _ in range(descriptors)]
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
    connection.sendmsg([line], rights)
    for file in files:
        os.close(file)
    # Until the client hangs up.
    connection.recv(65536)


def flood(connection: socket.socket) -> None:
    identifier(connection)
    for _ in range(64):
        connection.sendall(b"x" * (1 << 20))


def shower(connection: socket.socket) -> None:
    """Descriptors that belong to no line."""
    identifier(connection)
    files = [os.memfd_create("stranger") for _ in range(40)]
    try:
        for _ in range(100):
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))]
            connection.sendmsg([b" "], rights)
    finally:
        for file in files:
            os.close(file)


class StrangerTests(unittest.TestCase):
    def setUp(self) -> None:
        self.stranger: Optional[Stranger] = None
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name

    def ask(self, script: Script, **options: object) -> "imgd.Picture | Exception":
        """What both clients make of it, which has to be the same."""
        before = open_descriptors()
        outcomes = []
        for fetch in (self.fetch, self.fetch_async):
            stranger = Stranger(self.place, script)
            try:
                outcomes.append(fetch(stranger.path, **options))
            finally:
                stranger.close()
                os.unlink(stranger.path)
            self.connections = stranger.connections
        self.assertEqual(str(outcomes[0]), str(outcomes[1]))
        self.assertEqual(type(outcomes[0]), type(outcomes[1]))
        if isinstance(outcomes[0], Exception):
            self.assertEqual(open_descriptors(), before)
        return outcomes[0]

    def fetch(self, path: str, **options: object) -> "imgd.Picture | Exception":
        with imgd.Client(path) as client:
            try:
                return client.fetch("http://a/", **options)  # type: ignore[arg-type]
            except Exception as error:
                return error.with_traceback(None)

    def fetch_async(self, path: str, **options: object) -> "imgd.Picture | Exception":
        async def fetch() -> "imgd.Picture | Exception":
            async with imgd.aio.Client(path) as client:
                try:
                    return await asyncio.wait_for(client.fetch("http://a/", **options), LONG)  # type: ignore[arg-type]
                except Exception as error:
                    return error.with_traceback(None)

        return asyncio.run(fetch())

    def failure(self, script: Script) -> Exception:
        outcome = self.ask(script)
        assert isinstance(outcome, Exception), outcome
        return outcome

    def test_fields_that_nobody_knows(self) -> None:
        text = b'{"id":ID,"ok":true,"new":{"a":[1]},"url":"http://a/","width":7}'
        picture = self.ask(lambda connection: answer(connection, text))
        assert isinstance(picture, imgd.Picture)
        self.assertEqual((picture.width, picture.raw["new"]), (7, {"a": [1]}))

    def test_fields_of_other_types(self) -> None:
        text = b'{"id":ID,"ok":true,"url":1,"width":"x","path":[],"format":{},"fds":null,"average":3}'
        picture = self.ask(lambda connection: answer(connection, text))
        assert isinstance(picture, imgd.Picture)
        self.assertEqual((picture.url, picture.size, picture.path), ("", (0, 0), None))
        self.assertEqual((picture.format, picture.average), ("", None))

    def test_pixels_that_are_not_there(self) -> None:
        facts = b'"fds":[{"kind":"pixels","format":"rgba8","width":9000,"height":9000,"stride":36000}]'
        text = b'{"id":ID,"ok":true,"url":"http://a/",' + facts + b"}"

        def script(connection: socket.socket) -> None:
            file = os.memfd_create("small")
            os.write(file, b"small")
            line = text.replace(b"ID", str(identifier(connection)).encode()) + b"\n"
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))]
            connection.sendmsg([line], rights)
            os.close(file)

        picture = self.ask(script)
        assert isinstance(picture, imgd.Picture)
        with self.assertRaisesRegex(imgd.Error, "are not in 5 bytes"):
            picture.pixels()

    def test_errors_of_other_shapes(self) -> None:
        for error in (b"null", b"5", b"{}", b'{"code":7,"message":[],"details":"x"}', b'{"code":"new"}'):
            text = b'{"id":ID,"ok":false,"error":' + error + b"}"
            failure = self.failure(lambda connection: answer(connection, text))
            self.assertEqual(type(failure), imgd.FetchError)

    def test_the_end_with_a_request_unread(self) -> None:
        with tempfile.TemporaryDirectory() as place, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(place + "/socket")
            listener.listen()
            with imgd.Client(place + "/socket") as client:

                def hang_up() -> None:
                    for _ in range(2):
                        connection = listener.accept()[0]
                        connection.recv(1, socket.MSG_PEEK)
                        connection.close()

                stranger = threading.Thread(target=hang_up)
                stranger.start()
                with self.assertRaisesRegex(imgd.ConnectionLost, "closed the connection"):
                    client.fetch("http://a/")
                stranger.join()

    def test_the_end_instead_of_an_answer(self) -> None:
        failure = self.failure(lambda connection: None)
        self.assertIsInstance(failure, imgd.ConnectionLost)
        self.assertEqual(self.connections, 2, "it was asked once more, and not for ever")

    def test_the_end_in_a_line(self) -> None:
        def script(connection: socket.socket) -> None:
            identifier(connection)
            connection.sendall(b'{"ok":')

        self.assertIsInstance(self.failure(script), imgd.ConnectionLost)

    def test_a_line_without_end(self) -> None:
        self.assertRegex(str(self.failure(flood)), "a line of more than")

    def test_descriptors_without_a_line(self) -> None:
        self.assertRegex(str(self.failure(shower)), "descriptors without a line")

    def test_a_descriptor_that_was_not_asked_for(self) -> None:
        text = b'{"id":ID,"ok":false,"error":{"code":"new"},"fds":[{}]}'
        failure = self.failure(lambda connection: answer(connection, text, descriptors=1))
        self.assertIsInstance(failure, imgd.FetchError)

    def test_a_web_server(self) -> None:
        failure = self.failure(lambda connection: answer(connection, b"HTTP/1.1 400 Bad Request\r"))
        self.assertRegex(str(failure), "is not imgd")
        self.assertEqual(self.connections, 1)

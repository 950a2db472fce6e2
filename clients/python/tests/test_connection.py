"""Connections that do not come about, break, are shared, and are given up."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, List, Tuple
from unittest import mock

import imgd
from imgd import _socket
from imgd._socket import MACHINE_SOCKET, find_socket

from .stage import LONG, Daemon, Origin, StageTest, open_descriptors, png


class PlaceTests(unittest.TestCase):
    def test_order(self) -> None:
        with tempfile.TemporaryDirectory() as runtime:
            own = f"{runtime}/imgd/imgd.sock"
            environment = {"IMGD_SOCKET": "/b", "XDG_RUNTIME_DIR": runtime}
            self.assertEqual(find_socket("/a", environment), "/a")
            self.assertEqual(find_socket(Path("/a"), environment), "/a")
            self.assertEqual(find_socket(None, environment), "/b")
            environment["IMGD_SOCKET"] = ""
            self.assertEqual(find_socket(None, environment), MACHINE_SOCKET)
            os.mkdir(f"{runtime}/imgd")
            Path(own).touch()
            self.assertEqual(find_socket(None, environment), own)
            environment["XDG_RUNTIME_DIR"] = os.path.relpath(runtime)
            self.assertNotEqual(find_socket(None, environment), own)


class RefusalTests(StageTest):
    def test_messages(self) -> None:
        stale = f"{self.daemon.place}/stale"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(stale)
        cases = [
            (f"{self.daemon.place}/none", "there is no such socket"),
            (f"{self.daemon.socket}/none", "there is no such socket"),
            (stale, "systemctl start imgd"),
            ("/" + "x" * 200, "too long"),
        ]
        for path, message in cases:
            client = imgd.Client(path)
            with self.subTest(path), self.assertRaisesRegex(imgd.ConnectionFailed, message) as error:
                client.ping()
            self.assertIn(path, str(error.exception))

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_no_permission(self) -> None:
        # The group is looked up, because a socket may belong to another than imgd.
        os.chown(self.daemon.socket, -1, 1)
        # Another user might not be able to read Python, or this tree.
        program = """
            import grp, imgd, os, sys
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            imgd.Client(sys.argv[1]).ping()
            """
        ended = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program), self.daemon.socket],
            stderr=subprocess.PIPE,
        )
        self.assertIn(b"adduser $USER daemon", ended.stderr)

    def test_closed(self) -> None:
        with imgd.Client(self.daemon.socket) as client:
            client.ping()
        with self.assertRaisesRegex(imgd.ConnectionFailed, "was closed"):
            client.ping()


class RestartTests(unittest.TestCase):
    def setUp(self) -> None:
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)
        self.origin = Origin()
        self.addCleanup(self.origin.close)
        self.client = imgd.Client(self.daemon.socket)
        self.addCleanup(self.client.close)

    def test_it_goes_unnoticed(self) -> None:
        url = self.origin.serve("/a")
        self.client.fetch(url)
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.daemon.stop(number)
            self.daemon.start()
            self.client.fetch(url)
        self.assertEqual(self.origin.count("/a"), 1)

    def test_no_daemon_comes_back(self) -> None:
        url = self.origin.serve("/a", held=True)
        with ThreadPoolExecutor() as threads:
            fetching = threads.submit(self.client.fetch, url)
            self.origin.await_request("/a")
            self.daemon.stop(signal.SIGKILL)
            self.assertIsInstance(fetching.exception(LONG), imgd.ConnectionFailed)
        with self.assertRaises(imgd.ConnectionFailed):
            self.client.ping()

    def test_a_fetch_under_way_is_begun_again(self) -> None:
        url = self.origin.serve("/a", held=True)
        with imgd.Client(self.daemon.socket) as watcher, ThreadPoolExecutor() as threads:
            # The socket stays, as with systemd: who connects meanwhile waits.
            fetching = [threads.submit(self.client.fetch, url) for _ in range(4)]
            self.origin.await_request("/a")
            while len(watcher.list()) < 4:
                pass
            connection = self.client._connected()
            connection._socket.shutdown(socket.SHUT_RDWR)
            self.origin.release("/a")
            for each in fetching:
                self.assertEqual(each.result(LONG).width, 8)
            self.assertIsNot(self.client._connected(), connection)

    def test_a_subscription_says_so(self) -> None:
        events = self.client.subscribe("jobs")
        self.daemon.stop()
        with self.assertRaises(imgd.ConnectionLost):
            next(events)


class SharingTests(StageTest):
    def setUp(self) -> None:
        self.client = imgd.Client(self.daemon.socket)
        self.addCleanup(self.client.close)

    def test_threads(self) -> None:
        urls = [self.serve(f"{i}.png", png(i + 1, 2)) for i in range(50)]

        def fetch(i: int) -> bool:
            picture = self.client.fetch(urls[i % 50], deliver="bytes" if i % 2 else "path")
            return picture.bytes() == png(i % 50 + 1, 2)

        with ThreadPoolExecutor(8) as threads:
            self.assertTrue(all(threads.map(fetch, range(500))))
        self.assertEqual(self.client.stats()["clients"]["connected"], 1)

    def test_one_thread_does_not_wait_for_another(self) -> None:
        slow = self.serve("slow.png", held=True)
        with ThreadPoolExecutor() as threads:
            fetching = threads.submit(self.client.fetch, slow)
            self.origin.await_request(self.path("slow.png"))
            self.assertEqual(self.client.fetch(self.serve("fast.png")).width, 8)
            self.assertFalse(fetching.done())
            self.origin.release(self.path("slow.png"))
            self.assertEqual(fetching.result(LONG).width, 8)

    def test_who_leaves_lets_another_read(self) -> None:
        first, *others = (self.serve(f"{i}.png", held=True) for i in range(4))
        with ThreadPoolExecutor() as threads:
            reading = threads.submit(self.client.fetch, first)
            self.origin.await_request(self.path("0.png"))
            waiting = [threads.submit(self.client.fetch, url) for url in others]
            connection = self.client._connected()
            while len(connection._bells) < 3:
                pass
            # Nothing arrives for those who wait when the first one leaves.
            for i, each in enumerate([reading, *waiting]):
                self.origin.release(self.path(f"{i}.png"))
                self.assertEqual(each.result(LONG).width, 8)

    def test_who_gives_up_while_another_reads(self) -> None:
        url = self.serve("held.png", held=True)
        receipt = self.client.start(self.serve("started.png", held=True))
        with ThreadPoolExecutor() as threads:
            reading = threads.submit(self.client.fetch, url)
            self.origin.await_request(self.path("held.png"))
            while not self.client._connected()._reading:
                pass
            with self.assertRaises(imgd.TimedOut):
                self.client.wait(receipt, timeout=0.01)
            self.origin.release(self.path("held.png"))
            self.assertEqual(reading.result(LONG).width, 8)
        self.client.cancel(receipt)

    def test_a_slow_progress_function_stops_nobody(self) -> None:
        url = self.serve("slow.png")
        called, go_on = threading.Event(), threading.Event()

        def linger(_: imgd.Progress) -> None:
            called.set()
            go_on.wait()

        with ThreadPoolExecutor() as threads:
            fetching = threads.submit(self.client.fetch, url, progress=linger)
            called.wait(LONG)
            self.client.ping()
            go_on.set()
            fetching.result(LONG)

    def test_more_than_the_socket_takes(self) -> None:
        # Nobody reads while this is written, as the daemon does not read from who does not read.
        headers = {"X-Long": "y" * 60_000}
        urls = [self.serve(f"{i}.png") for i in range(100)]
        outcomes = list(self.client.fetch_many(urls, at_once=100, headers=headers))
        self.assertEqual([outcome.get().url for outcome in outcomes], urls)

    def test_who_reads_also_writes_for_others(self) -> None:
        held = {"cmd": "fetch", "url": self.serve("held.png", held=True)}
        last = {"cmd": "fetch", "url": self.serve("last.png"), "headers": {"X-Long": "y" * 60_000}}
        with ThreadPoolExecutor() as threads:
            reading = threads.submit(self.client.fetch, held["url"])
            self.origin.await_request(self.path("held.png"))
            connection = self.client._connected()
            while not connection._quiet:
                pass
            self.daemon.send(signal.SIGSTOP)
            while not connection._conversation.outbox.unsent:
                connection.begin({**held, "tags": ["t"], "headers": {"DNT": "y" * 60_000}})
            connection.begin(last)
            self.daemon.send(signal.SIGCONT)
            # Nothing else arrives for the thread that reads.
            self.origin.await_request(self.path("last.png"))
            self.origin.release(self.path("held.png"))
            reading.result(LONG)

    def test_who_waits_for_room_sleeps(self) -> None:
        urls = [self.serve(f"{i}.png") for i in range(100)]
        headers = {"X-Long": "y" * 60_000}
        self.client.ping()
        connection = self.client._connected()
        self.daemon.send(signal.SIGSTOP)
        with ThreadPoolExecutor() as threads:
            many = self.client.fetch_many(urls, at_once=100, headers=headers)
            fetching = threads.submit(lambda: list(many))
            while not connection._reading:
                pass
            # With its own bell it would be awake until all is written.
            with mock.patch.object(connection, "_ringer", wraps=connection._ringer) as ringer:
                self.daemon.send(signal.SIGCONT)
                self.assertEqual(len(fetching.result(LONG)), 100)
        ringer.send.assert_not_called()

    def test_close_from_another_thread(self) -> None:
        url = self.serve(held=True)
        before = open_descriptors()
        client = imgd.Client(self.daemon.socket)
        with ThreadPoolExecutor() as threads:
            fetching = [threads.submit(client.fetch, url) for _ in range(3)]
            self.origin.await_request(self.path())
            # Before that the one that reads looks up by itself.
            while not client._connected()._quiet:
                pass
            client.close()
            for each in fetching:
                self.assertIsInstance(each.exception(LONG), imgd.ConnectionFailed)
        self.assertEqual(open_descriptors(), before)

    def test_a_client_that_is_dropped(self) -> None:
        before = open_descriptors()
        client = imgd.Client(self.daemon.socket)
        client.ping()
        del client
        gc.collect()
        self.assertEqual(open_descriptors(), before)

    def test_fork(self) -> None:
        url = self.serve()
        held = self.serve("held.png", held=True)
        with ThreadPoolExecutor() as threads:
            # Another thread is in the middle of reading when the processes fork.
            fetching = threads.submit(self.client.fetch, held)
            self.origin.await_request(self.path("held.png"))
            self.inherited = self.client._connected()
            context = multiprocessing.get_context("fork")
            results: List[Tuple[int, str]] = []
            for _ in range(3):
                receiver, sender = context.Pipe(duplex=False)
                child = context.Process(target=self._in_child, args=(sender, url))
                child.start()
                sender.close()
                self.client.fetch(url, cache="reload")
                self.assertTrue(receiver.poll(LONG))
                results.append(receiver.recv())
                child.join()
                receiver.close()
            self.origin.release(self.path("held.png"))
            self.assertEqual(fetching.result(LONG).url, held, "a child disturbs nobody")
        self.assertEqual({text for _, text in results}, {url})
        self.assertNotIn(os.getpid(), [process for process, _ in results])

    def _in_child(self, sender: Any, url: str) -> None:
        assert self.inherited.is_over and self.inherited._socket.fileno() < 0
        sender.send((os.getpid(), self.client.fetch(url, deliver="none").url))


class GivingUpTests(StageTest):
    def setUp(self) -> None:
        self.client = imgd.Client(self.daemon.socket)
        self.addCleanup(self.client.close)

    def test_the_daemon_tells_the_phase(self) -> None:
        with self.assertRaises(imgd.TimedOut) as error:
            self.client.fetch(self.serve(held=True), timeout=0.05)
        self.assertIn("phase", error.exception.details)
        self.assertTrue(error.exception.retryable)
        self.assertEqual(self.client.list(), [])
        self.assertIn("127.0.0.1", [origin.get("host") for origin in self.client.origins()])

    def test_an_interrupt_cancels(self) -> None:
        url = self.serve(held=True)
        self._interrupt(lambda: self.client.fetch(url))
        self.assertEqual(self.client.list(), [])

    def test_an_interrupt_leaves_the_connection(self) -> None:
        url = self.serve(held=True)
        self.client.ping()
        connection = self.client._connected()
        self._interrupt(lambda: self.client.fetch(url))
        self.client.ping()
        self.assertIs(self.client._connected(), connection)

    def test_an_error_of_a_signal_handler_is_not_one_of_the_connection(self) -> None:
        url = self.serve(held=True)
        self.client.ping()
        connection = self.client._connected()
        # As with signal.alarm; it is an OSError, too.
        self._interrupt(lambda: self.client.fetch(url), TimeoutError("mine"))
        self.assertEqual(self.client.list(), [])
        self.assertIs(self.client._connected(), connection)

    def test_an_interrupt_that_loses_what_has_arrived(self) -> None:
        self.client.ping()
        connection = self.client._connected()
        receive = _socket.receive

        def interrupted(*arguments: Any) -> None:
            receive(*arguments)
            raise KeyboardInterrupt

        with mock.patch("imgd._socket.receive", interrupted):
            with self.assertRaises(KeyboardInterrupt):
                self.client.ping()
        self.assertTrue(connection.is_over)
        self.client.ping()

    def test_an_interrupt_cancels_many(self) -> None:
        urls = [self.serve("other.png", held=True)]
        urls.append(self.serve(held=True))
        self._interrupt(lambda: list(self.client.fetch_many(urls)))
        self.assertEqual(self.client.list(), [])

    def test_an_error_of_the_program_cancels(self) -> None:
        def fail(_: imgd.Progress) -> None:
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            self.client.fetch(self.serve(held=True), progress=fail)
        self.assertEqual(self.client.list(), [])

    def test_a_daemon_that_hangs(self) -> None:
        url = self.serve(held=True)
        self.client.ping()
        with imgd.Client(self.daemon.socket, timeout=0.05) as impatient:
            impatient._connected()
            self.daemon.send(signal.SIGSTOP)
            try:
                with self.assertRaises(imgd.RequestError) as error:
                    impatient.ping()
                self.assertEqual(error.exception.code, "timeout")
                with self.assertRaises(imgd.TimedOut):
                    self.client.fetch(url, timeout=0.01)
            finally:
                self.daemon.send(signal.SIGCONT)
        self.assertEqual(self.client.list(), [], "the cancellation follows when it goes on")

    def _interrupt(
        self, action: Callable[[], object], error: BaseException = KeyboardInterrupt()
    ) -> None:
        """Calls it; SIGINT raises the error when the daemon has asked for the picture."""

        def handle(*_: object) -> None:
            raise error

        def interrupt() -> None:
            self.origin.await_request(self.path())
            # The one that fetches may not have left the call that sends.
            while not self.client._connected()._reading:
                pass
            os.kill(os.getpid(), signal.SIGINT)

        # Who is started in the background by a shell ignores it.
        self.addCleanup(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))
        signal.signal(signal.SIGINT, handle)
        sender = threading.Thread(target=interrupt)
        sender.start()
        with self.assertRaises(type(error)) as raised:
            action()
        self.assertIs(raised.exception, error)
        sender.join()

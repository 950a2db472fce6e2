"""A daemon and an origin for tests, both real, and both on this machine alone."""

from __future__ import annotations

import http.server
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import unittest
import zlib
from pathlib import Path
from typing import Any, Dict, List, Optional

#: Where the programs are that `make test` has built.
PROGRAMS = Path(
    os.environ.get("IMGD_PROGRAMS", Path(__file__).parents[3] / ".build" / "debug")
)
#: Longer than anything takes on a machine that works, however busy it is.
LONG = 120.0


def png(width: int = 8, height: int = 8, salt: int = 0) -> bytes:
    """A picture whose pixel at (x, y) is (x, y, salt)."""

    def chunk(name: bytes, body: bytes) -> bytes:
        content = name + body
        return struct.pack(">I", len(body)) + content + struct.pack(">I", zlib.crc32(content))

    rows = b"".join(
        b"\0" + b"".join(bytes((x & 255, y & 255, salt & 255)) for x in range(width))
        for y in range(height)
    )
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


class Plan:
    """What the origin does for one path."""

    def __init__(self, body: bytes, status: int, kind: str, cache: str, held: bool) -> None:
        self.body = body
        self.status = status
        self.kind = kind
        self.cache = cache
        #: Half of the body is sent before this gate opens.
        self.gate = threading.Event()
        if not held:
            self.gate.set()


class Origin:
    """A web server that does as planned, and counts who asks."""

    def __init__(self) -> None:
        self._plans: Dict[str, Plan] = {}
        self._counts: Dict[str, int] = {}
        self._changed = threading.Condition()
        origin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                origin._answer(self)

            def log_message(self, *_: object) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 128

            def handle_error(self, *_: object) -> None:
                # A fetch that was cancelled breaks off.
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def serve(
        self,
        path: str,
        body: Optional[bytes] = None,
        *,
        status: int = 200,
        kind: str = "image/png",
        cache: str = "max-age=3600",
        held: bool = False,
    ) -> str:
        """Plans an answer, and returns its URL."""
        self._plans[path] = Plan(png() if body is None else body, status, kind, cache, held)
        return self.url(path)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{path}"

    def release(self, path: str) -> None:
        self._plans[path].gate.set()

    def count(self, path: str) -> int:
        with self._changed:
            return self._counts.get(path, 0)

    def await_request(self, path: str, count: int = 1) -> None:
        """Returns when the path has been asked for that many times."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._counts.get(path, 0) >= count, LONG):
                raise AssertionError(f"nobody has asked for {path}")

    def close(self) -> None:
        for plan in self._plans.values():
            plan.gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        plan = self._plans.get(request.path) or Plan(b"no", 404, "text/plain", "no-store", False)
        with self._changed:
            self._counts[request.path] = self._counts.get(request.path, 0) + 1
            self._changed.notify_all()
        request.send_response(plan.status)
        request.send_header("Content-Type", plan.kind)
        request.send_header("Content-Length", str(len(plan.body)))
        request.send_header("Cache-Control", plan.cache)
        request.end_headers()
        half = len(plan.body) // 2
        request.wfile.write(plan.body[:half])
        request.wfile.flush()
        plan.gate.wait()
        request.wfile.write(plan.body[half:])


class Daemon:
    """The built imgd, with a directory of its own."""

    def __init__(self, *arguments: str) -> None:
        self.place = tempfile.mkdtemp(prefix="imgd-python.")
        os.chmod(self.place, 0o755)
        self.socket = f"{self.place}/imgd.sock"
        self._arguments = arguments
        self._process: Optional["subprocess.Popen[bytes]"] = None
        self.start()

    def start(self) -> None:
        """Returns when it listens, which it tells as it would tell systemd."""
        program = PROGRAMS / "imgd"
        if not program.exists():
            raise RuntimeError(f"there is no {program}: `make build` builds it")
        notes = f"{self.place}/notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(notes)
            ready.settimeout(LONG)
            self._process = subprocess.Popen(
                [
                    str(program),
                    *("--socket", self.socket),
                    *("--cache-directory", f"{self.place}/cache"),
                    # What the origin holds back is held until a test goes on.
                    *("--set", "Downloads.IdleTimeout=10min", "--set", "Downloads.Timeout=10min"),
                    *self._arguments,
                ],
                env={**os.environ, "NOTIFY_SOCKET": notes},
                stderr=subprocess.DEVNULL,
            )
            while b"READY=1" not in ready.recv(4096):
                pass
        os.unlink(notes)

    def send(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self, number: int = signal.SIGTERM) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(LONG)
        self._process = None

    def close(self) -> None:
        if self._process is not None:
            self.stop(signal.SIGKILL)
        shutil.rmtree(self.place)


class StageTest(unittest.TestCase):
    """A test with a daemon and an origin, which the tests of a class share."""

    daemon: Daemon
    origin: Origin
    #: Arguments of the daemon.
    arguments: List[str] = []

    @classmethod
    def setUpClass(cls) -> None:
        cls.origin = Origin()
        cls.addClassCleanup(cls.origin.close)
        cls.daemon = Daemon(*cls.arguments)
        cls.addClassCleanup(cls.daemon.close)

    def path(self, name: str = "picture.png") -> str:
        """A path that no other test has."""
        return f"/{type(self).__name__}/{self._testMethodName}/{name}"

    def serve(self, name: str = "picture.png", body: Optional[bytes] = None, **plan: Any) -> str:
        """Plans a picture under a path that no other test has."""
        return self.origin.serve(self.path(name), body, **plan)


def open_descriptors() -> List[str]:
    """What this process has open, without the connections of the origin, which end by themselves."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except FileNotFoundError:
            # That by which the directory was read.
            continue
        if not target.startswith("socket:") or _family(int(number)) == socket.AF_UNIX:
            found.append(target)
    return sorted(found)


def _family(descriptor: int) -> int:
    with socket.socket(fileno=os.dup(descriptor)) as copy:
        return copy.family

#!/usr/bin/env python3
"""The module for Python beside redis-py, each with its own server on a Unix socket.

    /usr/bin/python3 Benchmarks/python/clients.py [--rounds N] [--quick] [--programs DIRECTORY]

takes the redis-py of Debian (python3-redis), and `imgd-bench clients` runs it so; a newer one is compared with

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install redis
    /tmp/peers/bin/python Benchmarks/python/clients.py

A ratio is imgd's speed against that of redis-py in the same round: more than 1 is faster. Both clients
take turns in each round, since a machine is not equally fast for long. redis-py uses its own parser:
with hiredis installed the script does not run. `taskset -c 0` before it takes the scheduler out of it.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Awaitable, Callable, List, Tuple

TREE = Path(__file__).parents[2]
sys.path.insert(0, str(TREE / "clients" / "python"))

#: Fetches by asyncio in one go.
CROWD = 1_000

Work = Callable[[int], None]


def seconds(work: Work, count: int) -> float:
    start = time.perf_counter()
    work(count)
    return time.perf_counter() - start


def compare(title: str, ours: Work, theirs: Work, count: int, rounds: int) -> None:
    """Prints the ratio of two kinds of work, and what one of each takes."""
    for work in (ours, theirs):
        work(count // 10 + 1)
    times: List[Tuple[float, float]] = []
    for number in range(rounds):
        # Who goes first takes turns as well.
        if number % 2:
            late = seconds(theirs, count)
            times.append((seconds(ours, count), late))
        else:
            times.append((seconds(ours, count), seconds(theirs, count)))
    ratios = sorted(theirs / ours for ours, theirs in times)
    each = [statistics.median(column) / count * 1e6 for column in zip(*times)]
    spread = f"({ratios[0]:.2f}–{ratios[-1]:.2f})"
    print(f"{title:44} {statistics.median(ratios):5.2f} {spread:13} {each[0]:7.1f} {each[1]:7.1f}")


class Redis:
    """A redis-server that keeps nothing on disk."""

    def __init__(self) -> None:
        import redis

        self.place = tempfile.mkdtemp(prefix="imgd-redis.")
        self.socket = f"{self.place}/socket"
        self._process = subprocess.Popen(
            ["redis-server", "--unixsocket", self.socket, "--port", "0", "--save", ""]
            + ["--appendonly", "no", "--dir", self.place],
            stdout=subprocess.DEVNULL,
        )
        self.client = redis.Redis(unix_socket_path=self.socket)
        while True:
            try:
                self.client.ping()
                return
            except redis.ConnectionError:
                if self._process.poll() is not None:
                    raise

    def close(self) -> None:
        self.client.close()
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self.place)


def threads(imgd: Any, socket: str, url: str, redis: Redis, size: Tuple[int, int]) -> None:
    """What a program without asyncio does: it waits for each answer."""
    client = imgd.Client(socket)
    path = client.fetch(url).path
    content = client.fetch(url, deliver="bytes").bytes()
    redis.client.set("path", path)
    redis.client.set("bytes", content)

    def by_path(count: int) -> None:
        for _ in range(count):
            assert client.fetch(url).path

    def get_path(count: int) -> None:
        for _ in range(count):
            assert redis.client.get("path")

    def by_bytes(count: int) -> None:
        for _ in range(count):
            with client.fetch(url, deliver="bytes") as picture:
                assert picture.bytes()

    def get_bytes(count: int) -> None:
        for _ in range(count):
            assert redis.client.get("bytes")

    count, rounds = size
    compare("a hit by path", by_path, get_path, count, rounds)
    compare(f"a hit as bytes ({len(content) / 1000:.0f} kB)", by_bytes, get_bytes, count, rounds)
    client.close()


def tasks(imgd: Any, socket: str, url: str, redis: Redis, size: Tuple[int, int]) -> None:
    """What a program with asyncio does: one after the other, and all of them at once."""
    import redis.asyncio as aioredis

    loop = asyncio.new_event_loop()
    client = imgd.aio.Client(socket)
    # One connection for each of them would be slower, and more than a process may open.
    pool = aioredis.BlockingConnectionPool.from_url(f"unix://{redis.socket}", max_connections=16)
    peer = aioredis.Redis(connection_pool=pool)

    async def by_path() -> None:
        assert (await client.fetch(url)).path

    async def get_path() -> None:
        assert await peer.get("path")

    def singly(what: Callable[[], Awaitable[None]]) -> Work:
        async def run(count: int) -> None:
            for _ in range(count):
                await what()

        return lambda count: loop.run_until_complete(run(count))

    def together(what: Callable[[], Awaitable[None]]) -> Work:
        async def run(count: int) -> None:
            for _ in range(0, count, CROWD):
                await asyncio.gather(*(what() for _ in range(CROWD)))

        return lambda count: loop.run_until_complete(run(count))

    count, rounds = size
    count = max(count, CROWD)
    compare("by asyncio, one after the other", singly(by_path), singly(get_path), count, rounds)
    compare(f"by asyncio, {CROWD:,} at once", together(by_path), together(get_path), count, rounds)

    async def close() -> None:
        await client.close()
        # It was called `close` before redis-py 5.
        await getattr(peer, "aclose", peer.close)()
        await pool.disconnect()

    loop.run_until_complete(close())
    loop.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    parser.add_argument("--programs", default=str(TREE / ".build" / "release"))
    options = parser.parse_args()
    if importlib.util.find_spec("hiredis") is not None:
        parser.error("hiredis is installed: redis-py would not use its own parser")
    os.environ["IMGD_PROGRAMS"] = os.path.abspath(options.programs)

    import imgd
    import imgd.aio
    import redis as peer
    from tests.stage import Daemon, Origin, png

    noise = random.Random(1)
    size = (200, 2) if options.quick else (4_000, options.rounds)
    origin, daemon, redis = Origin(), Daemon(), Redis()
    try:
        # Pixels of noise, which no encoding makes smaller.
        url = origin.serve("/pictures/cat-000001.png", png(8, 8) + noise.randbytes(28_000))
        versions = f"redis-py {peer.__version__}, imgd {imgd.__version__}"
        print(f"Python {sys.version.split()[0]}, {versions}")
        print(f"{'':44} {'ratio':5} {'':13} {'imgd':>7} {'redis':>7}  (µs each)")
        threads(imgd, daemon.socket, url, redis, size)
        tasks(imgd, daemon.socket, url, redis, size)
    finally:
        redis.close()
        daemon.close()
        origin.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

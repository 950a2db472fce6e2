"""What a fetch costs, in calls of the system, which are the same on every machine."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import imgd

from .stage import StageTest, png

HITS = """
    import imgd, sys
    url, count = sys.argv[2], int(sys.argv[3])
    with imgd.Client(sys.argv[1]) as client:
        for _ in range(count):
            """
ALL_AT_ONCE = """
    import asyncio, imgd.aio, sys
    url, count = sys.argv[2], int(sys.argv[3])
    async def work():
        async with imgd.aio.Client(sys.argv[1]) as client:
            await asyncio.gather(*(client.fetch(url) for _ in range(count)))
    asyncio.run(work())
    """


class CostTests(StageTest):
    def cost(self, program: str) -> float:
        """How many calls of the system a program makes for one more fetch of a picture in memory."""
        url = self.serve(body=png(50, 50))
        with imgd.Client(self.daemon.socket) as client:
            client.fetch(url).bytes()
        few, many = 100, 600
        counts = [self.calls(program, self.daemon.socket, url, str(n)) for n in (few, many)]
        return (counts[1] - counts[0]) / (many - few)

    def calls(self, program: str, *arguments: str) -> int:
        with tempfile.NamedTemporaryFile() as file:
            # Some versions of asyncio ask for the number of the process all the time.
            command = ["strace", "-f", "-qq", "-e", "trace=!getpid", "-o", file.name]
            command += [sys.executable, "-c"]
            subprocess.run([*command, textwrap.dedent(program), *arguments], check=True)
            return len(Path(file.name).read_bytes().splitlines())

    def test_a_hit_by_path_is_one_to_send_and_one_to_receive(self) -> None:
        self.assertAlmostEqual(self.cost(HITS + "client.fetch(url).path"), 2, delta=0.1)

    def test_a_hit_as_bytes_reads_and_closes_besides(self) -> None:
        program = HITS + 'client.fetch(url, deliver="bytes").bytes()'
        # Its length is asked for, too.
        self.assertAlmostEqual(self.cost(program), 5, delta=0.1)

    def test_tasks_share_their_calls(self) -> None:
        self.assertLess(self.cost(ALL_AT_ONCE), 0.2)

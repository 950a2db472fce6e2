"""The client for asyncio, with the real daemon."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import signal
import threading
from typing import Any, Awaitable, Callable, Dict, List

import imgd
import imgd.aio

from .stage import LONG, StageTest, open_descriptors, png


class AsyncTests(StageTest):
    def run_async(self, work: Callable[[imgd.aio.Client], Awaitable[Any]]) -> Any:
        """Runs it with a client; nothing stays open."""

        async def whole() -> Any:
            async with imgd.aio.Client(self.daemon.socket) as client:
                return await asyncio.wait_for(work(client), LONG)

        before = open_descriptors()
        result = asyncio.run(whole(), debug=True)
        gc.collect()
        self.assertEqual(open_descriptors(), before)
        return result

    async def asked(self, name: str = "picture.png", count: int = 1) -> None:
        """Returns when the origin was asked."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self.origin.await_request, self.path(name), count)

    def test_forms(self) -> None:
        async def work(client: imgd.aio.Client) -> None:
            url = self.serve(body=png(5, 3, salt=9))
            with await client.fetch(url) as picture:
                self.assertEqual(picture.bytes(), png(5, 3, salt=9))
            with await client.fetch(url, deliver="bytes") as picture:
                self.assertEqual(picture.bytes(), png(5, 3, salt=9))
            with await client.fetch(url, deliver="pixels") as picture:
                pixels = picture.pixels()
            view: Any = pixels.memoryview()
            self.assertEqual(view[2, 4, 2], 9)
            del pixels, view
            self.assertEqual((await client.fetch(url, resize=(2, None))).width, 2)

        self.run_async(work)

    def test_many_over_one_connection(self) -> None:
        async def work(client: imgd.aio.Client) -> None:
            urls = [self.serve(f"{i}.png", png(i + 1, 1)) for i in range(60)]
            pictures = await asyncio.gather(*(client.fetch(url, deliver="bytes") for url in urls))
            for i, picture in enumerate(pictures):
                with picture:
                    self.assertEqual(picture.bytes(), png(i + 1, 1))
            self.assertEqual((await client.stats())["clients"]["connected"], 1)

        self.run_async(work)

    def test_a_slow_one_holds_up_nobody(self) -> None:
        async def work(client: imgd.aio.Client) -> None:
            slow = asyncio.ensure_future(client.fetch(self.serve("slow.png", held=True)))
            await self.asked("slow.png")
            await client.fetch(self.serve("fast.png"))
            self.assertFalse(slow.done())
            self.origin.release(self.path("slow.png"))
            self.assertEqual((await slow).width, 8)

        self.run_async(work)

    def test_cancelling_a_task(self) -> None:
        async def work(client: imgd.aio.Client) -> None:
            task = asyncio.ensure_future(client.fetch(self.serve(held=True)))
            await self.asked()
            self.assertEqual(len(await client.list()), 1)
            self.assertEqual([origin["active"] for origin in await client.origins()], [1])
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual(await client.list(), [])

        self.run_async(work)

    def test_timeouts(self) -> None:
        async def work(client: imgd.aio.Client) -> None:
            url = self.serve(held=True)
            with self.assertRaises(imgd.TimedOut):
                await client.fetch(url, timeout=0.05)
            self.daemon.send(signal.SIGSTOP)
            try:
                with self.assertRaises(imgd.TimedOut):
                    await client.fetch(url, timeout=0.01)
            finally:
                self.daemon.send(signal.SIGCONT)
            self.assertEqual(await client.list(), [])

        self.run_async(work)

    def test_progress(self) -> None:
        async def work(client: imgd.aio.Client) -> None:
            seen: List[imgd.Progress] = []

            def note(progress: imgd.Progress) -> None:
                seen.append(progress)
                self.origin.release(self.path())

            await client.fetch(self.serve(body=png(64, 64), held=True), progress=note)
            self.assertEqual(seen[-1].received, len(png(64, 64)))
            self.assertLess(seen[0].received, seen[-1].received)

            def fail(_: imgd.Progress) -> None:
                raise KeyError("mine")

            with self.assertRaises(KeyError):
                await client.fetch(self.serve("other.png", held=True), progress=fail)
            self.assertEqual(await client.list(), [])

        self.run_async(work)

    def test_fetch_many(self) -> None:
        async def work(client: imgd.aio.Client) -> None:
            urls = [self.serve(f"{i}.png") for i in range(20)] + [self.origin.url("/missing")]
            outcomes = [outcome async for outcome in client.fetch_many(urls, at_once=4)]
            self.assertEqual([outcome.url for outcome in outcomes], urls)
            self.assertIsInstance(outcomes[-1].error, imgd.HTTPError)
            held = self.serve("held.png", held=True)
            before = (await client.stats())["downloads"]["cancelled"]
            both = client.fetch_many([held, urls[0]], ordered=False, deliver="bytes")
            first = await both.__anext__()
            self.assertEqual(first.url, urls[0])
            first.get().close()
            await self.asked("held.png")
            await both.aclose()  # type: ignore[attr-defined]
            self.assertEqual((await client.stats())["downloads"]["cancelled"], before + 1)
            self.assertEqual(await client.list(), [])

        self.run_async(work)

    def test_control(self) -> None:
        async def work(client: imgd.aio.Client) -> None:
            url = self.serve()
            receipt = await client.start(url, tags=["a"])
            self.assertEqual((await client.wait(receipt)).width, 8)
            self.assertEqual((await client.query(url))["tier"], "memory")
            entries = [entry async for entry in client.entries(prefix=url)]
            self.assertEqual([entry["url"] for entry in entries], [url])
            self.assertTrue((await client.purge(tag="a"))["removed"])
            with self.assertRaises(ValueError):
                await client.purge()
            with self.assertRaises(imgd.RequestError):
                await client.query(url, identifier="x" * 300)
            held = await client.start(self.serve("held.png", held=True), tags=["b"])
            self.assertIn(await client.cancel(held), ["queued", "running"])
            self.assertEqual(await client.cancel(tag="b"), 0)
            self.assertEqual(await client.cancel(all=True), 0)
            await client.ping()
            self.assertEqual((await client.hello())["protocol"], 1)
            self.assertIn("Memory", await client.config())
            self.assertEqual((await client.reload())["changed"], [])

        self.run_async(work)

    def test_subscribe(self) -> None:
        async def work(client: imgd.aio.Client) -> None:
            async with client.subscribe("jobs") as events:
                self.assertIn("jobs", events.snapshot)
                receipt = (await client.fetch(self.serve())).receipt
                states = []
                async for event in events:
                    if event["receipt"] == receipt:
                        states.append(event["state"])
                        if states[-1] == "done":
                            break
                self.assertEqual(states, ["queued", "running", "done"])
            with self.assertRaises(imgd.RequestError):
                async for _ in client.subscribe("weather"):  # type: ignore[arg-type]
                    pass

        self.run_async(work)

    def test_closing_a_subscription(self) -> None:
        async def work(client: imgd.aio.Client) -> None:
            events = client.subscribe("config")

            async def collect() -> List[Dict[str, Any]]:
                return [event async for event in events]

            async with events:
                task = asyncio.ensure_future(collect())
                await client.ping()
            self.assertEqual(await task, [])

        self.run_async(work)

    def test_more_than_the_socket_takes(self) -> None:
        async def work(client: imgd.aio.Client) -> None:
            headers = {"X-Long": "y" * 60_000}
            urls = [self.serve(f"{i}.png") for i in range(60)]
            await asyncio.gather(*(client.fetch(url, headers=headers) for url in urls))

        self.run_async(work)

    def test_what_waits_for_room_is_written_when_there_is_some(self) -> None:
        async def work(client: imgd.aio.Client) -> None:
            held, last = self.serve("held.png", held=True), self.serve("last.png")
            headers = {"DNT": "y" * 60_000}
            await client.ping()
            self.daemon.send(signal.SIGSTOP)
            fetches = [client.fetch(held, headers=headers) for _ in range(20)]
            fetches.append(client.fetch(last, headers={"X-Long": "y" * 60_000}))
            tasks = [asyncio.ensure_future(fetch) for fetch in fetches]
            # They send in their order, each as soon as it begins.
            await asyncio.sleep(0)
            assert client._connection is not None
            self.assertGreater(len(client._connection.conversation.outbox.unsent), 60_000)
            self.daemon.send(signal.SIGCONT)
            await tasks[-1]
            self.origin.release(self.path("held.png"))
            await asyncio.gather(*tasks)

        self.run_async(work)

    def test_closing_the_client(self) -> None:
        async def work(client: imgd.aio.Client) -> None:
            task = asyncio.ensure_future(client.fetch(self.serve(held=True)))
            await self.asked()
            await client.close()
            with self.assertRaisesRegex(imgd.ConnectionFailed, "was closed"):
                await task
            with self.assertRaisesRegex(imgd.ConnectionFailed, "was closed"):
                await client.ping()

        self.run_async(work)

    def test_a_client_that_is_dropped(self) -> None:
        async def work(_: imgd.aio.Client) -> None:
            client = imgd.aio.Client(self.daemon.socket)
            await client.ping()
            del client

        self.run_async(work)

    def test_two_loops_one_after_the_other(self) -> None:
        client = imgd.aio.Client(self.daemon.socket)
        before = open_descriptors()
        asyncio.run(client.ping())
        asyncio.run(client.ping())

        async def close() -> None:
            await client.close()

        asyncio.run(close())
        self.assertEqual(open_descriptors(), before)

    def test_fork(self) -> None:
        context = multiprocessing.get_context("fork")
        receiver, sender = context.Pipe(duplex=False)
        url = self.serve()

        async def work(client: imgd.aio.Client) -> None:
            await client.fetch(url)
            child = context.Process(target=self._in_child, args=(sender, client, url))
            child.start()
            self.assertTrue(receiver.poll(LONG))
            self.assertEqual(receiver.recv(), url)
            await client.fetch(url)
            child.join()

        self.run_async(work)
        sender.close()
        receiver.close()

    def _in_child(self, sender: Any, client: imgd.aio.Client, url: str) -> None:
        sender.send(asyncio.run(client.fetch(url)).url)

    def test_two_loops_at_once(self) -> None:
        async def work(client: imgd.aio.Client) -> None:
            await client.ping()
            errors: List[BaseException] = []

            def elsewhere() -> None:
                try:
                    asyncio.run(client.ping())
                except RuntimeError as error:
                    errors.append(error)

            thread = threading.Thread(target=elsewhere)
            thread.start()
            await asyncio.get_running_loop().run_in_executor(None, thread.join)
            self.assertEqual(len(errors), 1)
            await client.ping()

        self.run_async(work)


class AsyncRestartTests(StageTest):
    def test_restart(self) -> None:
        async def work() -> None:
            async with imgd.aio.Client(self.daemon.socket) as client:
                events = client.subscribe("jobs")
                async with events:
                    url = self.serve()
                    await client.fetch(url)
                    self.daemon.stop()
                    self.daemon.start()
                    pictures = await asyncio.gather(*(client.fetch(url) for _ in range(20)))
                    self.assertEqual({picture.width for picture in pictures}, {8})
                    self.assertEqual(self.origin.count(self.path()), 1)
                    with self.assertRaises(imgd.ConnectionLost):
                        async for _ in events:
                            pass
                self.daemon.stop()
                with self.assertRaises(imgd.ConnectionFailed):
                    await client.fetch(url)
                self.daemon.start()

        asyncio.run(work())

"""Other forms of pictures, seen by Pillow: what each format and each list keeps of a picture."""

from __future__ import annotations

import importlib
import io
import unittest
from typing import Any, Dict, List, Tuple

import imgd

from .stage import StageTest

SIZE = (60, 40)
FRAMES = 10
FORMATS = ("jpeg", "png", "webp", "avif", "gif", "tiff", "jxl")
MOVING = ("gif", "webp")
#: Of these, Pillow reads what it wrote, and imgd only the first frame.
UNREAD = "apng"


def sources() -> Dict[str, bytes]:
    """Pictures by what they have: their kind, and whether they have alpha and frames."""
    image: Any = importlib.import_module("PIL.Image")
    opaque = image.new("RGB", SIZE, (200, 40, 90))
    clear = image.new("RGBA", SIZE, (200, 40, 90, 255))
    clear.paste((0, 0, 0, 0), (0, 0, SIZE[0] // 2, SIZE[1]))
    steps = [image.new("RGB", SIZE, (25 * i, 250 - 25 * i, 40)) for i in range(FRAMES)]
    found: Dict[str, bytes] = {}

    def write(name: str, picture: Any, kind: str, **options: Any) -> None:
        file = io.BytesIO()
        picture.save(file, kind, **options)
        found[name] = file.getvalue()

    for kind in ("png", "webp", "tiff"):
        write(f"still {kind}", opaque, kind)
        write(f"alpha {kind}", clear, kind)
    write("still jpeg", opaque, "jpeg")
    for name, kind in (("gif", "gif"), ("webp", "webp"), ("apng", "png")):
        options = {"save_all": True, "append_images": steps[1:], "duration": 100}
        write(f"moving {name}", steps[0], kind, **options)
    return found


class FormTests(StageTest):
    def setUp(self) -> None:
        try:
            self.image: Any = importlib.import_module("PIL.Image")
        except ImportError:
            raise unittest.SkipTest("there is no Pillow") from None
        self.client = imgd.Client(self.daemon.socket)
        self.addCleanup(self.client.close)
        self.urls = {
            name: self.origin.serve("/" + name.replace(" ", "-"), body)
            for name, body in sources().items()
        }

    def seen(self, picture: imgd.Picture) -> Tuple[Tuple[int, int], int, bool]:
        """The size, the frames and whether there is alpha, as others see it."""
        if picture.format in ("avif", "jxl"):
            # Pillow cannot read these: what the daemon reads of them has alpha or not.
            url = self.origin.serve(f"/made-{picture.receipt}", picture.bytes())
            again = self.client.fetch(url, format=("jpeg", "png"), deliver="bytes", cache="no-store")
            size, _, _ = self.seen(again)
            view: Any = self.client.fetch(url, deliver="pixels").pixels().memoryview()
            return size, picture.frames, view[5, 5, 3] < 255
        file = self.image.open(io.BytesIO(picture.bytes()))
        frames = getattr(file, "n_frames", 1)
        return file.size, frames, file.convert("RGBA").getextrema()[3][0] < 255

    def check(self, name: str, picture: imgd.Picture, format: str, frames: int) -> None:
        self.assertEqual(picture.format, format)
        size, seen, alpha = self.seen(picture)
        self.assertEqual((size, picture.size), ((30, 20), (30, 20)))
        self.assertEqual((seen, picture.frames), (frames, frames))
        self.assertEqual(picture.original_frames, FRAMES if "moving" in name else 1)
        self.assertEqual("frames_of" in picture.raw, "moving" in name and frames < FRAMES)
        self.assertEqual(alpha, "alpha" in name and format != "jpeg")

    def test_formats(self) -> None:
        for name, url in self.urls.items():
            for format in FORMATS:
                with self.subTest(name=name, format=format):
                    keeps = "moving" in name and UNREAD not in name and format in MOVING
                    wanted: Any = format
                    picture = self.client.fetch(
                        url, resize=(30, 30), format=wanted, deliver="bytes"
                    )
                    self.check(name, picture, format, FRAMES if keeps else 1)

    def test_all_frames_are_a_demand(self) -> None:
        for name, url in self.urls.items():
            for format in FORMATS:
                with self.subTest(name=name, format=format):
                    options: Dict[str, Any] = {"format": format, "frames": "all"}
                    if "moving" not in name or format in MOVING and UNREAD not in name:
                        picture = self.client.fetch(url, resize=(30, 30), **options)
                        self.assertEqual(picture.frames, picture.original_frames)
                        continue
                    with self.assertRaises(imgd.DecodeFailed) as raised:
                        self.client.fetch(url, resize=(30, 30), **options)
                    self.assertEqual(raised.exception.code, "unsupported_format")

    def test_lists(self) -> None:
        # For a still, for one with alpha, and for a GIF or WebP that moves.
        lists: List[Tuple[Tuple[str, ...], Tuple[str, str, str]]] = [
            (("avif", "webp"), ("avif", "avif", "webp")),
            (("jpeg", "png"), ("jpeg", "png", "jpeg")),
            (("jpg", "webp"), ("jpeg", "webp", "webp")),
            (("jxl", "gif", "png"), ("jxl", "jxl", "gif")),
            (("avif", "original", "jpeg", "png"), ("avif", "avif", "original")),
            (("heic", "tiff", "original"), ("tiff", "tiff", "original")),
        ]
        for name, url in self.urls.items():
            kind, own = name.split()
            for formats, chosen in lists:
                with self.subTest(name=name, formats=formats):
                    wanted: Any = formats
                    picture = self.client.fetch(
                        url, resize=(30, 30), format=wanted, deliver="bytes"
                    )
                    if own == UNREAD:
                        self.check(name, picture, picture.format, 1)
                        self.assertNotEqual(picture.format, "avif")
                        continue
                    alone: Any = chosen[("still", "alpha", "moving").index(kind)]
                    format = own if alone == "original" else alone
                    keeps = kind == "moving" and format in MOVING
                    self.check(name, picture, format, FRAMES if keeps else 1)
                    # One that was asked for alone is the same file.
                    single = self.client.fetch(url, resize=(30, 30), format=alone, deliver="bytes")
                    self.assertEqual(single.source, "memory")
                    self.assertEqual(single.bytes(), picture.bytes())

    def places(self) -> Any:
        """Pixels whose colours say where they are, smooth enough for any scaling."""
        picture = self.image.new("RGB", (240, 160))
        picture.putdata([(x, y, 0) for y in range(160) for x in range(240)])
        return picture

    def check_place(self, picture: imgd.Picture, expected: Any) -> None:
        """Every corner shows the same place within a pixel of the picture."""
        made = self.image.open(io.BytesIO(picture.bytes())).convert("RGB")
        self.assertEqual(made.size, expected.size)
        right, bottom = made.width - 1, made.height - 1
        factor = max(1.0, 240 / made.width / 2)
        for at in ((0, 0), (right, 0), (0, bottom), (right, bottom), (right // 2, bottom // 2)):
            seen, wanted = made.getpixel(at), expected.getpixel(at)
            for i in range(2):
                self.assertLessEqual(abs(seen[i] - wanted[i]), factor + 1, (at, seen, wanted))

    def test_areas(self) -> None:
        whole = self.places()
        file = io.BytesIO()
        whole.save(file, "png")
        url = self.origin.serve("/places", file.getvalue())
        areas: List[Any] = [(10, 20, 30, 40), (0, 0, 240, 160), (0.25, 0.5, 0.5, 0.25)]
        areas += [(1 / 3, 0.1, 2 / 3, 0.9), (0.9, 0.9, 0.1, 0.1)]
        for area in areas:
            x, y, width, height = area
            if any(isinstance(n, float) for n in area):
                x, y, width, height = x * 240, y * 160, width * 240, height * 160
            box = tuple(round(n) for n in (x, y, x + width, y + height))
            with self.subTest(area=area):
                picture = self.client.fetch(url, area=area, format="png", deliver="bytes")
                self.check_place(picture, whole.crop(box))
                small = self.client.fetch(
                    url, area=area, resize=(12, 12), fit="fill", format="png", deliver="bytes"
                )
                shrunk = whole.crop(box).resize(
                    (min(12, box[2] - box[0]), min(12, box[3] - box[1])), self.image.BICUBIC
                )
                self.check_place(small, shrunk)

    def test_focal_points(self) -> None:
        whole = self.places()
        file = io.BytesIO()
        whole.save(file, "png")
        url = self.origin.serve("/points", file.getvalue())
        for size in ((60, 60), (120, 20), (20, 120), (240, 80)):
            scale = max(size[0] / 240, size[1] / 160)
            scaled = whole.resize((round(240 * scale), round(160 * scale)), self.image.BICUBIC)
            for point in ((0.4, 0.3), (0.0, 0.0), (1.0, 1.0), (0.5, 0.5), (0.9, 0.1)):
                with self.subTest(size=size, point=point):
                    picture = self.client.fetch(
                        url, resize=size, fit="cover", crop=point, format="png", deliver="bytes"
                    )
                    corner = [
                        min(max(0, round(p * whole - part / 2)), whole - part)
                        for p, part, whole in zip(point, size, scaled.size)
                    ]
                    box = (*corner, corner[0] + size[0], corner[1] + size[1])
                    self.check_place(picture, scaled.crop(box))

    def test_frames_as_pixels(self) -> None:
        size, count = (480, 270), 100
        delays = [10 * (1 + i * 7 % 90) for i in range(count)]
        steps = [
            self.image.new("RGB", size, (i * 2, 255 - i * 2, i % 7 * 30)) for i in range(count)
        ]
        file = io.BytesIO()
        steps[0].save(file, "gif", save_all=True, append_images=steps[1:], duration=delays, loop=0)
        url = self.origin.serve("/hundred.gif", file.getvalue(), kind="image/gif")
        picture = self.client.fetch(url, deliver="pixels", frames="all")
        pixels = picture.pixels()
        self.assertEqual((pixels.size, pixels.frames, picture.frames), (size, count, count))
        self.assertEqual(list(pixels.delays), delays)
        self.assertEqual(picture.bytes_count, 480 * 270 * 4 * count)
        for i in (0, 1, 50, 99):
            view: Any = pixels.frame(i).memoryview()
            wanted = self.image.open(io.BytesIO(file.getvalue()))
            wanted.seek(i)
            colour = wanted.convert("RGBA").getpixel((200, 100))
            self.assertEqual(tuple(view[100, 200, n] for n in range(4)), colour)
        with self.assertRaises(IndexError):
            pixels.frame(count)
        first = self.client.fetch(url, deliver="pixels")
        self.assertEqual((first.frames, first.pixels().frames), (count, 1))

    def test_pixels_for_cairo(self) -> None:
        clear = self.image.new("RGBA", (3, 2), (200, 100, 50, 128))
        file = io.BytesIO()
        clear.save(file, "png")
        url = self.origin.serve("/clear.png", file.getvalue())
        pixels = self.client.fetch(url, deliver="pixels", layout="bgra8-premultiplied").pixels()
        view: Any = pixels.memoryview()
        self.assertEqual([view[1, 2, n] for n in range(4)], [25, 50, 100, 128])
        self.assertEqual(pixels.layout, "bgra8-premultiplied")

    def test_what_needs_no_change_keeps_everything(self) -> None:
        for name, url in self.urls.items():
            with self.subTest(name=name):
                picture = self.client.fetch(url, format="original", frames="all", deliver="bytes")
                self.assertEqual(picture.original_frames, picture.frames)
                self.assertEqual(picture.frames, FRAMES if "moving" in name else 1)

"""The lines of fetches, which are remembered for options that come again."""

from __future__ import annotations

import json
import unittest
from typing import Any, Dict, List

from imgd import _requests

RECEIPT = "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"


def said(**options: Any) -> Dict[str, Any]:
    """What a fetch says besides its URL, which it has to say twice."""
    fetch: Any = _requests.fetch
    texts = {fetch("http://a/", **options).options for _ in range(2)}
    (text,) = texts
    found: Dict[str, Any] = json.loads("{" + text + "}")
    return found


class FetchLineTests(unittest.TestCase):
    def test_options(self) -> None:
        choices: List[Dict[str, Any]] = [
            {},
            {"deliver": "bytes"},
            {"cache": "reload", "format": "webp", "quality": 5, "encoded_bytes": 9, "describe": True},
            {"resize": 10},
            {"resize": (10, None), "fit": "cover", "crop": "centre"},
            {"resize": {"width": 3, "enlarge": True}},
            {"resize": (9, 9), "fit": "cover", "crop": (0.4, 0.3), "format": ("avif", "png")},
            {"resize": (9, 9), "fit": "pad", "background": "#ff8000", "frames": "all"},
            {"deliver": "pixels", "layout": "bgra8-premultiplied", "frames": "all"},
            {"area": (0.0, 0.0, 0.5, 1.0), "format": ["webp", "jpeg"]},
            {"tags": "ä\u2028%s", "identifier": 'a"b', "share": "s"},
            {"tags": ["a", "b"], "headers": {"A": "b"}, "priority": "low"},
            {"tags": ("a", "b"), "ttl": 0, "max_bytes": 7, "timeout": 0.5},
            {"progress": True, "wait": False, "wait_online": False},
        ]
        for options in choices:
            # With a receipt of the program's own nothing is remembered.
            request = _requests.fetch("http://a/", receipt=RECEIPT, **options)
            assert isinstance(request, dict)
            whole = {"cmd": "fetch", "url": "http://a/", "receipt": RECEIPT, **said(**options)}
            self.assertEqual(request, json.loads(json.dumps(request)))
            self.assertEqual(list(request.items()), list(whole.items()))

    def test_waiting_for_the_network(self) -> None:
        self.assertIs(said(tags=["a"], wait_online=False)["wait_online"], False)
        self.assertNotIn("wait_online", said(tags=["a"]))
        # Without anything else, too, this is no plain fetch.
        self.assertEqual(said(wait_online=False), {**said(), "wait_online": False})

    def test_what_is_equal_is_not_the_same(self) -> None:
        for first, second in (((1, 2), (1.0, 2)), ((1, 2), (True, 2))):
            self.assertEqual(repr(said(resize=first)["resize"]["width"]), repr(first[0]))
            self.assertEqual(repr(said(resize=second)["resize"]["width"]), repr(second[0]))
        for area in ((0, 0, 1, 1), (0.0, 0.0, 1.0, 1.0), (0, 0, 1.0, 1)):
            self.assertEqual(repr(said(area=area)["resize"]["area"]["width"]), repr(area[2]))
        for value in (1, True, 1.0):
            self.assertEqual(repr(said(quality=value)["quality"]), repr(value))

    def test_what_is_changed_meanwhile(self) -> None:
        # Usual ones cannot be looked up. Those of a program may be found by what they are, and
        # not by what they hold.
        class Fields(Dict[str, Any]):
            __hash__ = object.__hash__  # type: ignore[assignment]
            __repr__ = object.__repr__

        class Words(List[str]):
            __hash__ = object.__hash__  # type: ignore[assignment]

        headers, tags, size = Fields(A="1"), Words(["a"]), Fields(width=1)
        for i in range(3):
            headers["A"], tags[0], size["width"] = str(i), str(i), i
            self.assertEqual(said(headers=headers)["headers"], {"A": str(i)})
            self.assertEqual(said(tags=tags)["tags"], [str(i)])
            self.assertEqual(said(resize=size)["resize"], {"width": i})

    def test_mistakes_are_named_every_time(self) -> None:
        mistakes: List[Dict[str, Any]] = [
            {"fit": "cover"},
            {"deliver": "fd"},
            {"share": {1}},
            {"resize": (1, [2], 3)},
            {"area": (1, 2, 3)},
            {"resize": 3, "crop": (0.5,)},
        ]
        for options in mistakes:
            for _ in range(2):
                with self.assertRaises((TypeError, ValueError)) as mistake:
                    said(**options)
                self.assertNotIn("unhashable", str(mistake.exception))

"""The requests of both clients, checked as far as the daemon could not tell what was meant."""

from __future__ import annotations

import functools
import json
import uuid
from typing import Any, Dict, List, Literal, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ._descriptor import Descriptor

Request = Dict[str, Any]
Receipt = Union[str, uuid.UUID]
#: A width, `(width, height)`, of which one may be None, or `resize` as the protocol has it.
Size = Union[int, Tuple[Optional[int], Optional[int]], Mapping[str, Any]]

Cache = Literal[
    "default", "reload", "no-cache", "force-cache", "only-if-cached", "peek", "no-store"
]
Fit = Literal["contain", "cover", "fill", "pad", "cover-alike", "cover-down"]
#: What `cover` keeps: a word, or `(x, y)`, a point in fractions of the sides that comes near to the middle.
Crop = Union[Literal["centre", "attention"], Tuple[float, float]]
#: `(x, y, width, height)` of the upright picture: pixels, or fractions if one of them is a float.
Area = Tuple[float, float, float, float]
Format = Literal["original", "jpeg", "jpg", "png", "webp", "avif", "gif", "tiff", "jxl"]
#: A format, or several, the one liked best first; there, `heic`, `bmp`, `jp2` and `svg` stand for pictures
#: that come in them.
Formats = Union[Format, Sequence[Union[Format, Literal["heic", "bmp", "jp2", "svg"]]]]
Frames = Literal["auto", "all", "first"]
Layout = Literal["rgba8", "bgra8-premultiplied"]
Priority = Literal["low", "normal", "high"]
Deliver = Literal["path", "bytes", "pixels", "none"]
Tier = Literal["memory", "disk"]
PurgedTier = Literal["memory", "disk", "all"]
Topic = Literal["jobs", "cache", "pressure", "config"]


class KnownFetch(NamedTuple):
    """A `fetch` of which the line is known but for its URL, its id and its receipt."""

    url: str
    #: All other fields as the line has them.
    options: str


class Handed(NamedTuple):
    """A request, and the file that goes with it as often as it is sent."""

    request: Union[Request, KnownFetch]
    file: Descriptor


Asked = Union[Request, KnownFetch, Handed]


#: A value as a line has it. Made once: `json.dumps` makes an encoder for each call.
encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode

_deliveries = {"path": "path", "bytes": "fd", "pixels": "pixels", "none": "none"}
_plain = {name: f'"deliver":"{delivery}"' for name, delivery in _deliveries.items()}


def fetch(
    url: str,
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
    progress: bool = False,
    *,
    wait: bool = True,
) -> Union[Request, KnownFetch]:
    """A `fetch`; without a receipt, each attempt at it gets one of its own.

    The clients pass the options by their places: by name they take longer.
    """
    if not isinstance(url, str):
        raise _no_url(url)
    if (
        cache is None
        and resize is None
        and fit is None
        and crop is None
        and area is None
        and background is None
        and format is None
        and quality is None
        and encoded_bytes is None
        and frames is None
        and layout is None
        and priority is None
        and share is None
        and tags is None
        and headers is None
        and identifier is None
        and ttl is None
        and timeout is None
        and max_bytes is None
        and receipt is None
        and wait
        and wait_online
        and not (describe or progress)
        and deliver in _plain
    ):
        return KnownFetch(url, _plain[deliver])
    size = (resize, fit, crop, area, background)
    form = (deliver, *size, format, quality, encoded_bytes, frames, layout, describe)
    limits = (ttl, timeout, max_bytes, wait_online)
    manner = (cache, priority, share, tags, identifier, *limits, progress, wait)
    options: Tuple[Any, ...] = (*form, *manner)
    if receipt is not None:
        return {"cmd": "fetch", "url": url, "receipt": str(receipt), **_fields(headers, *options)}
    # Headers and lists may be changed by the program before the next fetch.
    if headers is None and all(
        type(value) in _constant for value in (tags, resize, crop, area, format)
    ):
        try:
            # Equal sizes may have different texts: (1, 2) and (1.0, 2.0).
            return KnownFetch(url, _remembered_text(repr((resize, crop, area)), *options))
        except TypeError:
            # Something that has no hash is a mistake, and what follows says which.
            pass
    return KnownFetch(url, _text(headers, *options))


_constant = (type(None), str, int, tuple)


def _fields(
    headers: Optional[Mapping[str, str]],
    deliver: Deliver,
    resize: Optional[Size],
    fit: Optional[Fit],
    crop: Optional[Crop],
    area: Optional[Area],
    background: Optional[str],
    format: Optional[Formats],
    quality: Optional[int],
    encoded_bytes: Optional[int],
    frames: Optional[Frames],
    layout: Optional[Layout],
    describe: bool,
    cache: Optional[Cache],
    priority: Optional[Priority],
    share: Optional[str],
    tags: Union[None, str, Sequence[str]],
    identifier: Optional[str],
    ttl: Optional[int],
    timeout: Optional[float],
    max_bytes: Optional[int],
    wait_online: bool,
    progress: bool,
    wait: bool,
) -> Request:
    """What a `fetch` says besides its URL and its receipt."""
    return _present(
        {
            "deliver": _delivery(deliver),
            "cache": cache,
            "resize": _resize(resize, fit, crop, area, background),
            "format": format if format is None or isinstance(format, str) else list(format),
            "quality": quality,
            "encoded_bytes": encoded_bytes,
            "frames": frames,
            "layout": layout,
            "priority": priority,
            "share": share,
            "tags": _tags(tags),
            "headers": dict(headers) if headers is not None else None,
            "identifier": identifier,
            "ttl": ttl,
            "timeout_ms": max(1, round(timeout * 1000)) if timeout is not None else None,
            "max_bytes": max_bytes,
            "wait_online": None if wait_online else False,
            "describe": describe or None,
            "progress": progress or None,
            "wait": None if wait else False,
        }
    )


def _tags(tags: Union[None, str, Sequence[str]]) -> Optional[List[str]]:
    return [tags] if isinstance(tags, str) else list(tags) if tags is not None else None


def _text(headers: Optional[Mapping[str, str]], *options: Any) -> str:
    return encode(_fields(headers, *options))[1:-1]


@functools.lru_cache(maxsize=64, typed=True)
def _remembered_text(_: str, *options: Any) -> str:
    return _text(None, *options)


def with_file(request: Union[Request, KnownFetch], file: Optional[Descriptor]) -> Asked:
    """A `fetch` with the file that it is about, if it is about one."""
    if file is None:
        return request
    # Only a picture on disk has a path.
    if isinstance(request, KnownFetch):
        if _plain["path"] in request.options:
            request = request._replace(options=request.options + ',"store":"all"')
    elif request["deliver"] == "path":
        request = {**request, "store": "all"}
    return Handed(request, file)


def put(
    url: str,
    file: Descriptor,
    ttl: Optional[int],
    tags: Union[None, str, Sequence[str]],
    for_all: bool,
) -> Handed:
    """A `put`."""
    fields = {"cmd": "put", "url": _url(url), "ttl": ttl, "tags": _tags(tags)}
    return Handed(_present({**fields, "for": "all" if for_all else None}), file)


def wait(receipt: Receipt, deliver: Optional[Deliver]) -> Request:
    """A `wait`."""
    delivery = _delivery(deliver) if deliver is not None else None
    return _present({"cmd": "wait", "receipt": str(receipt), "deliver": delivery})


def cancel(receipt: Optional[Receipt], tag: Optional[str], all: bool) -> Request:
    """A `cancel` of exactly one kind."""
    if (receipt is not None) + (tag is not None) + all != 1:
        raise ValueError("cancel takes exactly one of a receipt, tag=… and all=True")
    text = str(receipt) if receipt is not None else None
    return _present({"cmd": "cancel", "receipt": text, "tag": tag, "all": all or None})


def purge(
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
) -> Request:
    """A `purge`, of everything only if that is what was said."""
    filters = _present(
        {
            "url": _url(url) if url is not None else None,
            "identifier": identifier,
            "prefix": prefix,
            "host": host,
            "tag": tag,
            "older_than": older_than,
            "unused_for": unused_for,
            "expired": expired or None,
        }
    )
    for name, value in filters.items():
        if value == "":
            raise ValueError(f"purge: {name} is empty, and would not choose anything")
    if everything and filters:
        raise ValueError(f"purge: everything=True and {', '.join(filters)} contradict each other")
    if not everything and not filters:
        raise ValueError("purge: name what to remove, or say everything=True")
    return _present({"cmd": "purge", **filters, "tier": tier, "soft": soft or None})


def query(url: str, identifier: Optional[str], describe: bool) -> Request:
    """A `query`."""
    return _present(
        {"cmd": "query", "url": _url(url), "identifier": identifier, "describe": describe or None}
    )


def entries(
    tier: Tier,
    url: Optional[str],
    prefix: Optional[str],
    contains: Optional[str],
    cursor: Optional[str],
) -> Request:
    """One page of `entries`."""
    return _present(
        {
            "cmd": "entries",
            "tier": tier,
            "url": url,
            "prefix": prefix,
            "contains": contains,
            "cursor": cursor,
            "limit": 1000,
        }
    )


def page(command: str, cursor: Optional[str]) -> Request:
    """One page of `list`, `origins`, `clients`, `failures` or `fleet`."""
    return _present({"cmd": command, "cursor": cursor})


def subscribe(topics: Sequence[Topic]) -> Request:
    """A `subscribe`."""
    if not topics:
        raise ValueError("subscribe needs a topic: jobs, cache, pressure or config")
    return {"cmd": "subscribe", "events": list(topics)}


def url_of(request: Asked) -> Optional[str]:
    """What it is about, if that is one picture."""
    if isinstance(request, Handed):
        request = request.request
    return request.url if isinstance(request, KnownFetch) else request.get("url")


def _url(url: str) -> str:
    if not isinstance(url, str):
        raise _no_url(url)
    return url


def _no_url(url: object) -> TypeError:
    # A program without type checks may have a Path or a URL of its own type.
    return TypeError(f"a URL is a str, not {type(url).__name__}: {url!r}")


def _delivery(deliver: str) -> str:
    try:
        return _deliveries[deliver]
    except KeyError:
        raise ValueError(f"deliver is one of {', '.join(_deliveries)}, not {deliver!r}") from None


def _resize(
    size: Optional[Size],
    fit: Optional[Fit],
    crop: Optional[Crop],
    area: Optional[Area],
    background: Optional[str],
) -> Optional[Request]:
    part = _numbers("crop", crop, ("x", "y")) if isinstance(crop, (tuple, list)) else crop
    manner = _present({"fit": fit, "crop": part})
    whole = _present(
        {"area": area and _numbers("area", area, _area_names), "background": background}
    )
    if size is None:
        if manner:
            verb = "means" if len(manner) == 1 else "mean"
            raise ValueError(f"{' and '.join(manner)} {verb} nothing without resize")
        return whole or None
    if isinstance(size, Mapping):
        return {**size, **manner, **whole}
    if isinstance(size, int):
        size = (size, None)
    if not isinstance(size, (tuple, list)) or len(size) != 2:
        raise ValueError(
            f"resize is a width, or (width, height), of which one may be None, not {size!r}"
        )
    width, height = size
    return {**_present({"width": width, "height": height}), **manner, **whole}


_area_names = ("x", "y", "width", "height")


def _numbers(name: str, values: Sequence[float], names: Tuple[str, ...]) -> Request:
    if not isinstance(values, (tuple, list)) or len(values) != len(names):
        raise ValueError(f"{name} is ({', '.join(names)}), not {values!r}")
    return dict(zip(names, values))


def _present(fields: Request) -> Request:
    return {name: value for name, value in fields.items() if value is not None}

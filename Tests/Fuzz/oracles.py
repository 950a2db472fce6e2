#!/usr/bin/python3
"""Compares what fuzzers read with what other programs, or rules written down here, read in the same bytes.

    oracles.py PROGRAM TARGET DIRECTORY...

PROGRAM is the one with all fuzzers; the inputs of TARGET are the files in the directories. Prints how many were compared,
and each difference that is not one by design. The designs are named where they are allowed for.
"""

import base64
import ctypes
import json
import pathlib
import re
import struct
import subprocess
import sys

Path = pathlib.Path


# --- JSON, by Python's own reader -------------------------------------------------------------------------------------


class NoJSON(Exception):
    pass


def depth(value) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


def described(value) -> str:
    if value is None:
        return "n"
    if value is True or value is False:
        return "t" if value else "f"
    if isinstance(value, int):
        return f"i{value}"
    if isinstance(value, float):
        return "d%x" % struct.unpack(">Q", struct.pack(">d", value))
    if isinstance(value, str):
        return "s" + value.encode().hex()
    if isinstance(value, list):
        return "[" + ",".join(map(described, value)) + "]"
    return "{" + ",".join(f"{name.encode().hex()}:{described(value[name])}" for name in value) + "}"


def members(pairs):
    # By design: a key twice is refused.
    if len({name for name, _ in pairs}) < len(pairs):
        raise NoJSON
    return dict(pairs)


def whole(text: str):
    number = int(text)
    # By design: what does not fit 64 bits is the nearest double.
    return number if -(2**63) <= number < 2**63 else real(text)


def real(text: str) -> float:
    # By design: what is beyond every double is refused.
    if abs(number := float(text)) == float("inf"):
        raise NoJSON
    return number


def refuse(_: str):
    # Python reads NaN and Infinity, which are no JSON.
    raise NoJSON


def read_json(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
        if text.startswith("\ufeff"):
            raise NoJSON
        value = json.loads(
            text, object_pairs_hook=members, parse_int=whole, parse_float=real, parse_constant=refuse
        )
        # By design: sixteen levels, and no half of a surrogate pair.
        if depth(value) > 16:
            raise NoJSON
        return "yes " + described(value)
    except (ValueError, NoJSON, RecursionError):
        return "no"


# --- Pictures, by libvips -----------------------------------------------------------------------------------------


class Vips:
    """libvips, as far as it reads the head of a file."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libvips.so.42")
        self.library.vips_init(b"oracle")
        self.library.vips_foreign_find_load.restype = ctypes.c_char_p
        self.library.vips_image_new_from_file.restype = ctypes.c_void_p

    def read(self, path: Path) -> tuple[str, int, int, int, int] | None:
        """Loader, width, height, frames and orientation; None if it does not know such a picture."""
        loader = self.library.vips_foreign_find_load(str(path).encode())
        image = self.library.vips_image_new_from_file(str(path).encode(), None) if loader else None
        self.library.vips_error_clear()
        if not image:
            return None
        names = ("get_width", "get_page_height", "get_n_pages", "get_orientation")
        numbers = [getattr(self.library, "vips_image_" + name)(ctypes.c_void_p(image)) for name in names]
        self.library.g_object_unref(ctypes.c_void_p(image))
        return loader.decode().removeprefix("VipsForeignLoad").lower(), *numbers


VIPS = None


def compare_picture(path: Path, said: str) -> str | None:
    global VIPS
    VIPS = VIPS or Vips()
    known = VIPS.read(path)
    # By design: a picture is one as soon as its header is whole. libvips begins to decode, and refuses many of these.
    if known is None:
        return None
    loader, *numbers = known
    if said == "no":
        # libvips also reads what is no picture of the web.
        web = ("jpeg", "png", "gif", "nsgif", "webp", "heif", "jp2k", "jxl", "tiff")
        return f"libvips reads {known}" if loader.startswith(web) else None
    _, name, *words = said.split(" ")
    width, height, frames, orientation = map(int, words)
    # By design: an icon is its largest entry, and a drawing has the size of its viewport.
    if name in ("svg", "ico", "bmp") or [width, height] == numbers[:2]:
        return None
    # By design: a HEIF has the size of its stored rows here, and is upright when libvips shows it.
    if name in ("heic", "avif") and [height, width] == numbers[:2]:
        return None
    # By design: the first frame makes a screen larger, and does not replace one that lacks a side.
    if name == "gif" and 0 in struct.unpack("<HH", path.read_bytes()[6:10]):
        return None
    return f"libvips reads {known}"


# --- Paths, by the documented rules of imgproxy -----------------------------------------------------------------------
# docs.imgproxy.net: usage/processing. Only what is about reading is written down, not what is made of the picture.


class NoPath(Exception):
    pass


FORMATS = {"jpg": "jpeg", "jpeg": "jpeg", "png": "png", "webp": "webp", "avif": "avif"}
FITS = {"fit": "contain", "fill": "cover", "fill-down": "cover-down", "force": "fill", "auto": "cover-alike"}
NAMES = {
    "resize": "rs", "size": "s", "resizing_type": "rt", "width": "w", "height": "h", "min-width": "mw",
    "min-height": "mh", "zoom": "z", "enlarge": "el", "extend": "ex", "quality": "q", "max_bytes": "mb",
    "format": "f", "expires": "exp", "rotate": "rot", "padding": "pd", "return_attachment": "att", "dpr": "dpr",
    "cachebuster": "cb", "strip_metadata": "sm", "strip_color_profile": "scp", "keep_copyright": "kcr",
    "auto_rotate": "ar", "preset": "pr",
}
LONG = {short: name for name, short in NAMES.items()} | {name: name for name in NAMES} | {"ext": "format"}
# Options whose arguments have rules of imgd's own, and so nothing is compared with them.
OWN = {"gravity", "g", "crop", "c", "background", "bg", "filename", "fn", "format_quality", "fq"}


def number(text: str) -> int:
    if not re.fullmatch("[0-9]+", text):
        raise NoPath
    return int(text)


def flag(text: str) -> str:
    if text.lower() not in ("1", "t", "true", "0", "f", "false"):
        raise NoPath
    return "true" if text.lower() in ("1", "t", "true") else "false"


def fit(text: str) -> str:
    if text not in FITS:
        raise NoPath
    return FITS[text]


def read_sizes(arguments: list[str], said: dict) -> None:
    for (name, meaning), text in zip(
        [("width", number), ("height", number), ("enlarge", flag), ("extend", flag)], arguments
    ):
        if text:
            said[name] = str(meaning(text))


def read_option(segment: str, said: dict) -> None:
    name, *arguments = segment.split(":")
    if name in OWN:
        raise LookupError
    if name not in LONG:
        raise NoPath
    name = LONG[name]
    first = arguments[0]
    if name == "resize":
        if first:
            said["fit"] = fit(first)
        read_sizes(arguments[1:], said)
    elif name == "size":
        read_sizes(arguments, said)
    elif name == "resizing_type":
        if first:
            said["fit"] = fit(first)
        else:
            said.pop("fit", None)
    elif name in ("width", "height", "min-width", "min-height", "quality", "max_bytes"):
        said[name] = str(number(first))
    elif name == "enlarge":
        said[name] = flag(first)
    elif name == "extend":
        said[name] = flag(first)
    elif name in ("zoom", "dpr"):
        if not re.fullmatch(r"[0-9]*\.?[0-9]*", first) or first in ("", "."):
            raise NoPath
        said[name] = repr(float(first))
    elif name == "format":
        if first not in FORMATS:
            raise LookupError
        said[name] = FORMATS[first]
    elif name == "expires":
        said.pop(name, None)
        if number(first):
            said[name] = str(number(first))
    elif name == "rotate":
        if number(first) % 90:
            raise NoPath
        said[name] = str(number(first) % 360)
    elif name == "padding":
        sides = [number(text) if text else None for text in (arguments + [""] * 4)[:4]]
        top = sides[0] or 0
        right = top if sides[1] is None else sides[1]
        bottom = top if sides[2] is None else sides[2]
        left = right if sides[3] is None else sides[3]
        said[name] = f"{top},{right},{bottom},{left}"
    elif name == "return_attachment":
        said.pop("attachment", None)
        if flag(first) == "true":
            said["attachment"] = "true"
    elif name == "preset":
        raise LookupError


def read_path(text: str) -> dict:
    """The values of a path, or NoPath; LookupError where imgd has rules of its own."""
    said: dict = {}
    segments = text.split("/")
    if segments[0] or len(segments) < 2:
        raise LookupError
    rest = segments[1:]
    if rest[0] != "plain" and ":" not in rest[0]:
        if len(rest) < 2:
            raise LookupError
        if rest[0] not in ("insecure", "unsafe", "_"):
            said["signature"] = rest[0].encode().hex()
        rest = rest[1:]
    while rest and ":" in rest[0] and rest[0] != "plain":
        read_option(rest[0], said)
        rest = rest[1:]
    if not rest:
        raise NoPath
    if rest[0] == "plain":
        url = "/".join(rest[1:])
        if "@" in url:
            url, ending = url.rsplit("@", 1)
            if ending not in FORMATS:
                raise LookupError
            said["format"] = FORMATS[ending]
        data = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), url.encode())
    else:
        url, dot, ending = "/".join(rest).split("?")[0].partition(".")
        if dot:
            if ending not in FORMATS:
                raise LookupError
            said["format"] = FORMATS[ending]
        letters = url.replace("/", "").rstrip("=")
        try:
            data = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
        except ValueError as error:
            raise NoPath from error
    said["url"] = data.hex()
    return said


def is_within_limits(said: dict) -> bool:
    """Whether imgd takes such values, of a plain URL."""
    most = {"width": 65_535, "height": 65_535, "min-width": 65_535, "min-height": 65_535, "quality": 100,
            "max_bytes": 2**62, "expires": 2**62, "rotate": 3_600}
    if any(int(said[name]) > limit for name, limit in most.items() if name in said):
        return False
    if any(not 0.001 <= float(said[name]) <= 8 for name in ("zoom", "dpr") if name in said):
        return False
    sides = said.get("padding", "0").split(",")
    return all(int(side) <= 10_000 for side in sides) and bool(
        re.fullmatch(rb"https?://[a-z]+(\.[a-z]+)*/[A-Za-z0-9._~/-]*", bytes.fromhex(said["url"]))
    )


def compare_path(path: Path, said: str) -> str | None:
    try:
        known = read_path(path.read_bytes().decode())
    except LookupError:
        return None
    except NoPath:
        return None if said == "no" else "imgproxy does not read it"
    if said == "no":
        # By design: imgd refuses more: values beyond its limits, URLs that it cannot check, and more arguments than an
        # option has.
        return f"imgproxy reads {known}" if is_within_limits(known) else None
    own = dict(word.split("=", 1) for word in said.split(" ")[1:])
    # By design: what no URL may hold is escaped, and a slash that a proxy has merged is put back.
    if not re.fullmatch("(?:2[1346-9abcdef]|3[0-9abdf]|[46][0-9a-f]|5[0-9abdf]|7[0-9ae])*", known["url"]):
        known["url"] = own["url"]
    elif re.match(rb"(?i)https?:/[^/]", bytes.fromhex(known["url"])):
        known["url"] = own["url"]
    return None if own == known else f"imgproxy reads {known}"


# --- The comparison ---------------------------------------------------------------------------------------------------


def compare_json(path: Path, said: str) -> str | None:
    known = read_json(path.read_bytes())
    return None if known == said else f"Python reads {known}"


ORACLES = {"json": compare_json, "pictures": compare_picture, "targets": compare_path}


def main(program: str, target: str, *directories: str) -> int:
    if target not in ORACLES:
        return 0
    paths = [path for directory in directories for path in sorted(Path(directory).iterdir())]
    differences = 0
    for start in range(0, len(paths), 500):
        part = paths[start : start + 500]
        shown = subprocess.run([program, target, "--show", *map(str, part)], capture_output=True, text=True, check=True)
        for path, said in zip(part, shown.stdout.splitlines(), strict=True):
            if said != "-" and (difference := ORACLES[target](path, said)):
                differences += 1
                print(f"{path}: {path.read_bytes()!r}\n  imgd: {said}\n  {difference}")
    print(f"{target}: {len(paths)} inputs compared, {differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

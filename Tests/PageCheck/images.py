"""Makes the pictures of README.md: the gateway's page and `imgctl top`, with a daemon at work, and one to try."""

import contextlib
import html
import io
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from PIL import Image

from browser import Browser
from check import NAMES, Programs
from origin import Origin, landscape

MOST_BYTES = 150_000
COLUMNS, ROWS = 104, 30
# The sixteen colours of a terminal, on a dark ground.
GROUND, TEXT = "#16191d", "#d5d9de"
PALETTE = ["#16191d", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d5d9de",
           "#7f8792", "#ef8a93", "#b5dba0", "#f2d49b", "#8bc6f7", "#d9a0e8", "#84d0da", "#ffffff"]


def colour(number):
    """One of the 256 colours of a terminal."""
    if number < 16:
        return PALETTE[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    parts = (number - 16) // 36, (number - 16) // 6 % 6, (number - 16) % 6
    return "#" + "".join(f"{55 + 40 * part if part else 0:02x}" for part in parts)


def style_after(codes, style):
    """The style that a sequence of codes (`\\x1b[…m`) leaves, from the one before it."""
    codes = [int(code or 0) for code in codes.split(";")]
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = {}
        elif code == 1:
            style = {**style, "font-weight": "bold"}
        elif code == 2:
            style = {**style, "opacity": "0.6"}
        elif code == 22:
            style = {key: value for key, value in style.items() if key not in ("font-weight", "opacity")}
        elif code == 39:
            style = {key: value for key, value in style.items() if key != "fill"}
        elif code == 38 and codes[0] == 5:
            style = {**style, "fill": colour(codes[1])}
            del codes[:2]
        elif code == 38:
            style = {**style, "fill": "#" + "".join(f"{part:02x}" for part in codes[1:4])}
            del codes[:4]
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style = {**style, "fill": PALETTE[code - 30 if code < 40 else code - 82]}
    return style


def drawing(screen):
    """The screen of a terminal, as text with its codes, as SVG."""
    width, height, margin = 8.4, 18, 14
    lines = screen.rstrip().split("\n")
    size = f'{COLUMNS * width + 2 * margin:.0f}', f'{len(lines) * height + 2 * margin:.0f}'
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}"'
           f' height="{size[1]}" font-family="ui-monospace, \'DejaVu Sans Mono\', Menlo, Consolas, monospace"'
           f' font-size="14" fill="{TEXT}">',
           f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>']
    style = {}
    for row, line in enumerate(lines):
        column = 0
        for part in re.split(r"(\x1b\[[0-9;]*m)", line):
            if part.startswith("\x1b"):
                style = style_after(part[2:-1], style)
                continue
            # What is blank needs no text, and each run keeps its place whatever the reader's font is.
            for run in re.finditer(r"\S+(?: \S+)*", part):
                x, y = margin + (column + run.start()) * width, margin + (row + 0.75) * height
                attributes = "".join(f' {key}="{value}"' for key, value in style.items())
                out.append(f'<text x="{x:.1f}" y="{y:.1f}" textLength="{len(run[0]) * width:.1f}"'
                           f' lengthAdjust="spacingAndGlyphs"{attributes}>{html.escape(run[0], quote=False)}</text>')
            column += len(part)
    return "\n".join([*out, "</svg>"]) + "\n"


@contextlib.contextmanager
def terminal(*command):
    """A program in a terminal that nobody sees, as a function that reads its screen."""
    with tempfile.TemporaryDirectory(prefix="imgd-tmux-") as place:
        tmux = ["tmux", "-S", f"{place}/tmux", "-f", "/dev/null"]
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        subprocess.run([*tmux, "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), *command], check=True,
                       env=environment)
        try:
            yield lambda: subprocess.run([*tmux, "capture-pane", "-e", "-p"], check=True, env=environment,
                                         stdout=subprocess.PIPE, encoding="utf-8").stdout
        finally:
            subprocess.run([*tmux, "kill-server"], check=False, env=environment)


@contextlib.contextmanager
def readers(programs, origin):
    """Asks for a few pictures again and again, and for a new one now and then until the event that it gives is set."""
    ended, settled = threading.Event(), threading.Event()

    def ask():
        turn = 0
        while not ended.wait(0.04):
            turn += 1
            name = NAMES[turn * 7 % len(NAMES)]
            if turn % 9 == 0 and not settled.is_set():
                name += f"-{turn // 9}"
            with contextlib.suppress(OSError):
                programs.fetch(f"{origin.url}/{urllib.parse.quote(name)}.png")

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield settled
    finally:
        ended.set()
        thread.join()


def small(png):
    """A PNG with a palette, which takes a third of the bytes."""
    with Image.open(io.BytesIO(png)) as picture:
        out = io.BytesIO()
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
        return out.getvalue()


def write(path, data):
    """Writes a picture that a page may show."""
    if len(data) > MOST_BYTES:
        raise SystemExit(f"{path} would have {len(data)} bytes")
    with open(path, "wb") as file:
        file.write(data)
    print(path, len(data), "bytes")


def main():
    build, directory = sys.argv[1], sys.argv[2]
    os.makedirs(directory, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="imgd-page-") as place, Origin() as origin, \
            Programs(build, place) as programs, Browser() as browser:
        programs.start_daemon()
        programs.start_gateway()
        browser.show_as(1280, 1130)
        browser.call("Emulation.setScrollbarsHidden", hidden=True)
        browser.open(f"{programs.url}/")
        browser.wait("document.querySelector('#state')?.textContent === 'Live'")
        top = [f"{build}/imgctl", "--socket", f"{place}/imgd.sock", "top"]
        with terminal(*top) as screen, readers(programs, origin) as settled:
            # Plots need some history.
            time.sleep(150)
            slow = [threading.Thread(target=programs.fetch, args=(f"{origin.url}/{name}.png?slow",))
                    for name in ("panorama", "poster", "satellite")]
            for thread in slow:
                thread.start()
            browser.wait("[...document.querySelectorAll('#fetches progress')].filter((bar) => bar.value > 0).length >= 3")
            settled.set()
            # So that the last figures are of these fetches, and of pictures that the cache has.
            time.sleep(5)
            browser.wait("[...document.querySelectorAll('#tiles .tile')].slice(0, 14).every((tile) => tile.querySelector('img.there'))")
            browser.shoot(f"{place}/page.png")
            text = screen()
            for thread in slow:
                thread.join()
        with open(f"{place}/page.png", "rb") as file:
            write(f"{directory}/page.png", small(file.read()))
        write(f"{directory}/landscape.png", landscape("harbour-at-dawn", 640, 480))
        write(f"{directory}/top.svg", drawing(text).encode())


if __name__ == "__main__":
    main()

"""An origin on this machine with pictures of landscapes, each under a name of its own."""

import functools
import http.server
import math
import random
import struct
import threading
import time
import zlib


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


@functools.lru_cache(maxsize=256)
def landscape(name, width=320, height=240):
    """A PNG with a sky, a sun and hills; always the same for a name."""
    chance = random.Random(name)
    sky = [chance.randint(70, 250) for _ in range(3)]
    ground = [chance.randint(30, 200) for _ in range(3)]
    x, y, radius = chance.random() * width, chance.random() * height / 2, chance.randint(15, 40)
    hills = [(height * chance.uniform(0.45, 0.8), chance.uniform(10, 40), chance.uniform(0.008, 0.03),
              chance.random() * 6, bytes(int(part * shade) for part in ground)) for shade in (0.75, 0.5, 0.3)]
    rows = bytearray()
    for row in range(height):
        share = row / height
        rows.append(0)
        line = bytearray(bytes(int(a * (1 - share) + b * share) for a, b in zip(sky, ground)) * width)
        reach = radius ** 2 - (row - y) ** 2
        if reach > 0:
            begin, end = (min(max(int(x + side * math.sqrt(reach)), 0), width) for side in (-1, 1))
            line[3 * begin:3 * end] = b"\xff\xf0\xd2" * (end - begin)
        for base, swing, pace, start, colour in hills:
            for column in range(width):
                if row > base + swing * math.sin(pace * column + start):
                    line[3 * column:3 * column + 3] = colour
        rows += line
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(bytes(rows)))
            + _chunk(b"IEND", b""))


class _Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        name = self.path.split("?")[0].rsplit("/", 1)[-1]
        if name == "missing.png":
            return self.send_error(404)
        # One is upright, so that it is seen where a picture is cropped.
        body = landscape(name, *((240, 360) if name.startswith("harbour") else ()))
        self.send_response(200)
        self.send_header("Content-Type", "image/png")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=3600")
        self.end_headers()
        if self.path.endswith("?slow"):
            # So that a fetch is seen under way.
            part = len(body) // 24 + 1
            for start in range(0, len(body), part):
                self.wfile.write(body[start:start + part])
                self.wfile.flush()
                time.sleep(0.5)
        else:
            self.wfile.write(body)


class Origin:
    """The origin as a context: `url` is where its pictures are."""

    def __enter__(self):
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

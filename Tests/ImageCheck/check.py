"""Starts the container of an OCI archive as a usual runtime does, and looks at it from another machine's side.

    check.py ARCHIVE

It has no capabilities, gains none, has the seccomp profile of Debian's containers, a root that cannot be written to,
and a network of its own. Needs root, crun, and to be in a mount and a network namespace that nobody else uses.
"""

import base64
import hashlib
import hmac
import http.client
import http.server
import json
import os
import platform
import signal
import socket
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zlib
from pathlib import Path
from typing import Any

HOST, GUEST, PORT = "10.99.32.1", "10.99.32.2", 8080
KEY = b"0123456789abcdef0123456789abcdef"
PROFILE = Path("/usr/share/containers/seccomp.json")
LARGEST = 150.0
FIRST_ANSWER = 0.5
LONGEST_STOP = 10.0
CLIENTS = 50
# All clients have one address here.
SETTINGS = [
    "IMGD_HTTP_GATEWAY_KEYFILE=/run/secrets/http.key", "IMGD_HTTP_GATEWAY_WORKERS=2",
    f"IMGD_HTTP_GATEWAY_MAXPERADDRESS={2 * CLIENTS}",
]

failures: list[str] = []


def expect(holds: bool, sentence: str) -> None:
    print(("  ok      " if holds else "  FAILED  ") + sentence, flush=True)
    if not holds:
        failures.append(sentence)


# --- An origin ---


def picture(number: int) -> bytes:
    """A PNG of 600×400 pixels, another one for each number."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((x * y + number * 7) % 256 for x in range(600)) for y in range(400))
    head = struct.pack(">IIBBBBB", 600, 400, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Origin(http.server.BaseHTTPRequestHandler):
    pictures = [picture(number) for number in range(8)]

    def do_GET(self) -> None:
        body = self.pictures[int(self.path.removeprefix("/")) % len(self.pictures)]
        self.send_response(200)
        self.send_header("Content-Type", "image/png")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def target(number: int, width: int) -> str:
    """A signed target for a picture of the origin."""
    path = f"/fetch?url=http%3A%2F%2F{HOST}%3A8000%2F{number}&width={width}"
    digest = hmac.digest(KEY, path.encode(), hashlib.sha256)
    return f"{path}&signature={base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


# --- The container ---


def unpack(archive: Path, root: Path) -> dict[str, Any]:
    """Unpacks the layers, and returns the configuration."""
    with tarfile.open(archive) as outer:

        def blob(digest: str) -> Any:
            return outer.extractfile("blobs/" + digest.replace(":", "/"))

        index = json.load(outer.extractfile("index.json"))  # type: ignore[arg-type]
        manifest = json.load(blob(index["manifests"][0]["digest"]))
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=blob(layer["digest"])) as inner:
                inner.extractall(root, numeric_owner=True)
        config: dict[str, Any] = json.load(blob(manifest["config"]["digest"]))["config"]
        return config


def seccomp() -> dict[str, Any]:
    """The profile as a runtime applies it to a container without capabilities."""
    profile = json.loads(PROFILE.read_text())
    machine = {"x86_64": ("amd64", "SCMP_ARCH_X86_64"), "aarch64": ("arm64", "SCMP_ARCH_AARCH64")}
    name, architecture = machine[platform.machine()]
    rules = []
    for rule in profile["syscalls"]:
        wanted, unwanted = rule.get("includes") or {}, rule.get("excludes") or {}
        if wanted.get("caps") or name not in wanted.get("arches", [name]) or name in unwanted.get("arches", []):
            continue
        kept = {key: rule[key] for key in ("names", "action", "args", "errnoRet") if rule.get(key)}
        rules.append(kept)
    return {
        "defaultAction": profile["defaultAction"],
        "defaultErrnoRet": profile["defaultErrnoRet"],
        "architectures": [architecture],
        "syscalls": rules,
    }


def bundle(archive: Path, place: Path) -> None:
    """Makes what the runtime starts from."""
    config = unpack(archive, place / "rootfs")
    files = [path.lstat() for path in (place / "rootfs").rglob("*")]
    size = sum(file.st_size for file in files if stat.S_ISREG(file.st_mode)) / 1e6
    expect(size <= LARGEST, f"the image has {size:.0f} MB, and {archive.stat().st_size / 1e6:.0f} MB as an archive")
    user, group = (int(word) for word in config["User"].split(":"))
    expect(user != 0, f"it runs as the user {user}")
    volume = place / "volume"
    volume.mkdir()
    os.chown(volume, user, group)
    # As Docker and Compose hand out a secret: root's, and readable to all.
    secret = place / "http.key"
    secret.write_bytes(KEY + b"\n")
    secret.chmod(0o444)
    nothing: dict[str, list[str]] = {"bounding": [], "effective": [], "permitted": [], "ambient": []}
    usual = ["nosuid", "nodev", "noexec"]
    spec = {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False,
            "user": {"uid": user, "gid": group},
            "args": config["Entrypoint"],
            "env": config["Env"] + SETTINGS,
            "cwd": "/",
            "capabilities": nothing,
            "noNewPrivileges": True,
        },
        "root": {"path": "rootfs", "readonly": True},
        "hostname": "imgd",
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=64k"]},
            # As Kubernetes makes an emptyDir: open to all, and not sticky.
            {"destination": "/run/imgd", "type": "tmpfs", "source": "tmpfs", "options": [*usual, "mode=0777"]},
            {"destination": "/var/cache/imgd", "type": "bind", "source": str(volume), "options": ["bind", *usual]},
            {"destination": "/run/secrets/http.key", "type": "bind", "source": str(secret), "options": ["bind", "ro"]},
        ],
        "linux": {
            "namespaces": [
                {"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"},
                {"type": "network", "path": "/run/netns/imgd"},
            ],
            "seccomp": seccomp(),
        },
    }
    (place / "config.json").write_text(json.dumps(spec))


def lay_network() -> None:
    for command in (
        "ip link set lo up", "ip netns add imgd", "ip link add outer type veth peer name inner netns imgd",
        f"ip addr add {HOST}/24 dev outer", "ip link set outer up", f"ip -n imgd addr add {GUEST}/24 dev inner",
        "ip -n imgd link set inner up", "ip -n imgd link set lo up",
    ):
        subprocess.run(command.split(), check=True)


class Container:
    def __init__(self, place: Path) -> None:
        self.runtime = ["crun", "--root", str(place / "state"), "--cgroup-manager=disabled"]
        self.log = place / "log"
        process = json.loads((place / "config.json").read_text())["process"]
        self.user = "{uid}:{gid}".format(**process["user"])
        self.began = time.monotonic()
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*self.runtime, "run", "--bundle", str(place), "imgd"], stdout=log, stderr=subprocess.STDOUT
            )

    def perform(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self.runtime, "exec", "--user", self.user, "imgd", *words], capture_output=True, text=True, timeout=30)

    def stop(self, name: str = "TERM") -> None:
        subprocess.run([*self.runtime, "kill", "imgd", name], check=False, stderr=subprocess.DEVNULL)


def ask(path: str, **fields: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(GUEST, PORT, timeout=10)
    try:
        connection.request("GET", path, headers=fields)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


# --- What is looked at ---


def check_start(container: Container) -> None:
    while True:
        try:
            if ask(target(0, 300))[0] == 200:
                break
        except OSError:
            pass
        if container.process.poll() is not None or time.monotonic() - container.began > 20:
            sys.exit(f"no answer: {container.log.read_text()}")
        time.sleep(0.005)
    passed = time.monotonic() - container.began
    expect(passed <= FIRST_ANSWER, f"the first picture, downloaded and made smaller, after {passed * 1000:.0f} ms")


def check_answers(container: Container) -> None:
    for path in ("/health", "/health/live", "/health/ready"):
        expect(ask(path)[0] == 200, f"{path} is 200")
    for path in ("/", "/metrics", "/entries"):
        expect(ask(path, Host="localhost")[0] == 404, f"{path} is not for others, whatever host they name")
    unsigned = target(0, 300).rpartition("&")[0]
    expect(ask(unsigned)[0] == 403, "what is not signed is refused")
    expect(container.perform("/usr/lib/imgd/healthy").returncode == 0, "the check of its health passes")


def check_sandbox(container: Container) -> None:
    said = container.perform("/usr/bin/imgctl", "stats", "--json")
    decode = json.loads(said.stdout or "{}").get("decode", {})
    expect(decode.get("sandbox") == "full", f"the sandbox of its decoders is {decode.get('sandbox')}{said.stderr}")
    expect({"jpeg", "png", "webp", "avif", "gif"} <= set(decode.get("encodes", [])), "it writes the formats of the web")


def check_stop(container: Container) -> None:
    """Stops it under load: an answer that has begun comes whole, and no connection ends without a word."""
    broken: list[str] = []
    answered = [0] * CLIENTS
    told = threading.Event()

    def load(client: int) -> None:
        connection = http.client.HTTPConnection(GUEST, PORT, timeout=15)
        number = client
        while True:
            number += 1
            try:
                connection.connect()
            except OSError:
                if told.is_set():
                    return
                broken.append("no connection before the end")
                return
            try:
                closes = False
                while not closes:
                    connection.request("GET", target(number % 8, 100 + number % 50))
                    answer = connection.getresponse()
                    body = answer.read()
                    closes = answer.will_close
                    if answer.status != 200 or not body:
                        broken.append(f"{answer.status}")
                    answered[client] += 1
            except (OSError, http.client.HTTPException) as error:
                broken.append(repr(error))
            connection.close()

    clients = [threading.Thread(target=load, args=(client,)) for client in range(CLIENTS)]
    for client in clients:
        client.start()
    while min(answered) < 5:
        time.sleep(0.01)
    began = time.monotonic()
    told.set()
    container.stop()
    unready = 0
    while container.process.poll() is None and time.monotonic() - began < 30:
        try:
            unready = ask("/health/ready")[0] if unready != 503 else unready
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.02)
    passed = time.monotonic() - began
    for client in clients:
        client.join()
    kinds = sorted(set(broken))
    expect(not broken, f"{sum(answered)} answers to {CLIENTS} clients, of which {len(broken)} broken{kinds or ''}")
    expect(unready == 503, "it is not ready from the signal on")
    expect(passed <= LONGEST_STOP, f"it has stopped after {passed:.1f} s")
    expect(container.process.returncode == 0, f"its status is {container.process.returncode}")


def check_log(container: Container) -> None:
    lines = container.log.read_text().splitlines()
    try:
        entries = [json.loads(line) for line in lines]
    except ValueError:
        entries = [{}]
    sound = all({"time", "level", "message"} <= set(entry) for entry in entries)
    expect(sound, f"its log is JSON, {len(lines)} lines" + ("" if sound else f": {lines[:3]}"))


def check_death(place: Path) -> None:
    """The container ends with either program, with its status."""
    for name in ("imgd", "imgd-http"):
        container = Container(place)
        check_start(container)
        # Within its namespace of processes; the first process's children.
        script = f"""for p in /proc/[0-9]*; do
          read -r name <"$p/comm"; [ "$name" != {name} ] || kill -KILL "${{p#/proc/}}"; done"""
        container.perform("/usr/bin/bash", "-c", script)
        try:
            code = container.process.wait(12)
        except subprocess.TimeoutExpired:
            code = -1
            container.stop("KILL")
            container.process.wait()
        expect(code == 128 + signal.SIGKILL, f"if {name} is killed, the container ends with {code}")


def main() -> int:
    socket.setdefaulttimeout(15)
    lay_network()
    origin = http.server.ThreadingHTTPServer((HOST, 8000), Origin)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="imgd-image-") as name:
        place = Path(name)
        place.chmod(0o755)
        bundle(Path(sys.argv[1]), place)
        container = Container(place)
        check_start(container)
        check_answers(container)
        check_sandbox(container)
        check_stop(container)
        check_log(container)
        check_death(place)
    print(f"{len(failures)} of the checks failed" if failures else "all is well")
    return 1 if failures else 0


sys.exit(main())

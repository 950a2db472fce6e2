"""Opens the page of the gateway in a browser, with a daemon at work behind it, and looks at all that it shows."""

import contextlib
import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from browser import Browser
from origin import Origin

NAMES = ["harbour-at-dawn", "portrait-04", "alpine lake", "cover", "product-front", "hero", "lighthouse",
         "map-tile-14", "forest-path", "market", "bridge", "window", "desk", "tea", "mountains", "sand"]


def free_port():
    """A port of this machine that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Programs:
    """imgd and imgd-http in a directory of their own."""

    def __init__(self, build, directory):
        self._build = build
        self._socket = f"{directory}/imgd.sock"
        self._files = f"{directory}/imgd.conf"
        self._directory = directory
        self._running = []
        self.token = secrets.token_hex(16)
        self.port = free_port()
        self.url = f"http://localhost:{self.port}"
        with open(f"{directory}/token", "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(self.token + "\n")
        with open(self._files, "w", encoding="ascii") as file:
            file.write("[Memory]\nPressure=off\n[Network]\nPrivate=allow\n")
            file.write(f"[HTTP-Gateway]\nListen=127.0.0.1:{self.port}\nAllow=*\nTokenFile={directory}/token\n")

    def start_daemon(self):
        """Starts imgd, and returns when it listens."""
        self._start("imgd", "--socket", self._socket, "--cache-directory", f"{self._directory}/cache",
                    "--config", self._files)
        self._wait(lambda: os.path.exists(self._socket), "imgd does not listen")

    def start_gateway(self):
        """Starts imgd-http, and returns when it is in health."""
        self._start("imgd-http", "--socket", self._socket, "--config", self._files)
        self._wait(self._is_healthy, "imgd-http does not answer")

    def _start(self, name, *arguments):
        self._running.append((name, subprocess.Popen([f"{self._build}/{name}", *arguments])))

    def _is_healthy(self):
        try:
            return urllib.request.urlopen(f"{self.url}/health", timeout=5).status == 200
        except OSError:
            return False

    def _wait(self, is_true, problem):
        deadline = time.monotonic() + 30
        while not is_true():
            if time.monotonic() > deadline:
                raise SystemExit(problem)
            time.sleep(0.05)

    def stop(self, name):
        """Ends one of the programs."""
        for entry in [entry for entry in self._running if entry[0] == name]:
            entry[1].terminate()
            entry[1].wait(20)
            self._running.remove(entry)

    def fetch(self, url, form=""):
        """Gets a picture through the gateway, in a form."""
        target = f"{self.url}/fetch?url={urllib.parse.quote(url, safe='')}"
        with urllib.request.urlopen(target + form, timeout=60) as answer:
            return answer.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name in ("imgd-http", "imgd"):
            self.stop(name)


@contextlib.contextmanager
def traffic(programs, origin):
    """Pictures that are asked for again and again while the page is looked at."""
    ended = threading.Event()

    def ask():
        turn = 0
        while not ended.wait(0.04):
            turn += 1
            name = NAMES[turn * 7 % len(NAMES)] if turn % 9 else f"passing-{turn}"
            with contextlib.suppress(OSError):
                programs.fetch(f"{origin.url}/{urllib.parse.quote(name)}.png")

    threads = [threading.Thread(target=ask)]
    threads += [threading.Thread(target=lambda number=number: programs.fetch(f"{origin.url}/large-{number}.png?slow"))
                for number in range(4)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


#: The elements whose texts run over their own edge, with these texts.
OVERFLOWING = """[...document.querySelectorAll(".value, .remark, .facts dt, .facts dd, .fetches .how div, .meter .row *, th[scope=col], td, .failures *")]
  .filter((element) => element.scrollWidth > element.clientWidth + 1).map((element) => element.textContent)"""
#: As long as they ever are.
LONG_TEXTS = """(() => {
  document.querySelectorAll("#facts dd.more").forEach((element, index) => {
    if (index < 2) element.textContent = "p99\u00a012.3\u00a0s · max\u00a023.4\u00a0s";
  });
  for (const progress of document.querySelectorAll("#fetches .how div")) progress.textContent = "999 KiB of 17.3 MiB";
})()"""


def check_texts(browser, name):
    """No text is cut off, and none runs over its bar."""
    browser.ask(LONG_TEXTS)
    assert browser.ask("document.documentElement.scrollWidth <= innerWidth"), f"{name} scrolls sideways"
    cut = browser.ask(f"JSON.stringify({OVERFLOWING})")
    assert cut == "[]", f"{name}: {cut}"


def shoot_all(browser, directory, state):
    """Pictures of the page in both sizes and both schemes."""
    for name, width in (("wide", 1280), ("narrow", 400)):
        for scheme in ("light", "dark"):
            browser.show_as(width, 800, scheme)
            time.sleep(0.5)
            browser.shoot(f"{directory}/{state}-{name}-{scheme}.png")
        browser.shoot(f"{directory}/{state}-{name}-whole.png", whole=True)
        check_texts(browser, name)
    browser.show_as(1400, 1000)


def check_plots(browser):
    """The numbers change, and the keyboard reads them at another time."""
    before = browser.ask("document.querySelector('#hits .stroke').getAttribute('d')")
    browser.wait(f"document.querySelector('#hits .stroke').getAttribute('d') !== {before!r}")
    browser.wait("Number.parseFloat(document.querySelector('#ratio .value').textContent) > 0")
    browser.ask("document.querySelector('#hits .plot').focus()")
    for _ in range(2):
        browser.press("ArrowLeft")
    browser.wait("document.querySelector('#hits .plot').getAttribute('aria-valuetext').includes('ago: ')")
    assert "averages of three seconds" in browser.ask("document.querySelector('#hits .plot').getAttribute('aria-label')")
    assert browser.ask("document.querySelectorAll('.plot.read').length") == 4, "the plots share no cursor"
    browser.press("Escape")
    assert browser.ask("document.querySelectorAll('.plot.read').length") == 0, "the cursor stays"


def check_fetches(browser):
    """A download under way has a row with its progress, in a panel that is there only then."""
    browser.wait("!document.querySelector('#under-way').hidden")
    browser.wait("[...document.querySelectorAll('#fetches progress')].some((bar) => bar.value > 0 && bar.max > 1)")
    assert browser.ask("document.querySelector('#fetches').textContent").count("large-") >= 1
    for width in (400, 1280):
        browser.show_as(width, 900)
        check_texts(browser, f"{width} pixels with fetches")
    browser.show_as(1400, 1000)


def lookups(programs):
    """The lines of the metrics that count look-ups, what they found, and requests of hosts."""
    with urllib.request.urlopen(f"{programs.url}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return sorted(line for line in lines if line.startswith(("imgd_cache_hits", "imgd_cache_misses", "imgd_cache_coalesced", "imgd_host_requests")))


def check_opening(browser, programs):
    """A page that is opened has the past at once, says nothing that it does not know, and is itself no look-up."""
    before = lookups(programs)
    browser.open(f"{programs.url}/")
    browser.wait("document.querySelector('#state')?.textContent === 'Live'")
    assert browser.ask("document.querySelector('#hits .stroke').getAttribute('d').length > 0"), "no past"
    assert browser.ask("document.querySelector('#hits .nothing').hidden")
    browser.wait("document.querySelectorAll('#tiles img.there').length >= 8")
    browser.ask("document.querySelector('#tiles .tile').click()")
    browser.wait("document.querySelector('#detail-picture img.there') !== null")
    browser.press("Escape")
    assert any(line.startswith("imgd_host_requests") for line in before), before
    assert lookups(programs) == before, (before, lookups(programs))


def check_fold(browser):
    """While nothing is under way, pictures are seen without scrolling."""
    browser.wait("document.querySelector('#under-way').hidden", seconds=40)
    for width in (1280, 400):
        browser.show_as(width, 800)
        browser.wait("document.querySelectorAll('#tiles img.there').length >= 2")
        bottom = browser.ask("document.querySelector('#tiles .frame').getBoundingClientRect().bottom")
        assert bottom <= 800, f"at {width} × 800 the first picture ends at {bottom}"
    browser.show_as(1400, 1000)


def check_rest(browser):
    """Hosts and failures are listed; every picture that is folded away can be shown."""
    browser.wait("document.querySelector('#hosts tbody th')?.textContent.startsWith('127.0.0.1')")
    browser.wait("document.querySelector('#failures').textContent.includes('http_status 404')")
    browser.wait("document.querySelector('#failures li').textContent.includes('2 times')")
    failure = browser.ask("document.querySelector('#failures li').textContent")
    assert "/missing.png" in failure, failure
    hidden = "document.querySelectorAll('#tiles li[hidden]').length"
    browser.show_as(400, 800)
    browser.wait(f"{hidden} > 0 && !document.querySelector('#all').hidden")
    browser.ask("document.querySelector('#all').click()")
    browser.wait(f"{hidden} === 0 && document.querySelector('#all').hidden")
    assert browser.ask("document.activeElement.className") == "tile", "the focus is lost"
    browser.ask("document.activeElement.blur()")
    browser.show_as(1400, 1000)


def check_stillness(browser, programs, origin):
    """Under the pointer, and around the focus, nothing moves; what is new comes afterwards."""
    first = "document.querySelector('#tiles .tile .name').textContent"
    place = browser.ask("(() => { scrollTo(0, 0); const box = document.querySelector('#tiles .tile').getBoundingClientRect(); "
                        "return [box.x + box.width / 2, box.y + box.height / 2]; })().join()")
    holds = {
        "pointer": (lambda: browser.move(*map(float, place.split(","))), lambda: browser.move(2, 2)),
        "focus": (lambda: browser.ask("document.querySelector('#tiles .tile').focus()"),
                  lambda: browser.ask("document.activeElement.blur()")),
    }
    for name, (enter, leave) in holds.items():
        enter()
        before = browser.ask(first)
        programs.fetch(f"{origin.url}/new-for-the-{name}.png")
        browser.wait("document.querySelector('#pictures-count').textContent.includes('when you leave')")
        assert browser.ask(first) == before, f"a tile moves under the {name}"
        leave()
        browser.wait(f"{first} === 'new-for-the-{name}.png'")


def check_gap(browser):
    """A time that was not measured is named, with its length, where it is read and for a screen reader."""
    browser.wait("/imgd was restarted, [0-9]+ s/.test(document.querySelector('#gaps').textContent)")
    browser.ask("document.querySelector('#hits .plot').focus()")
    for _ in range(40):
        browser.press("ArrowLeft")
        said = browser.ask("document.querySelector('#hits .plot').getAttribute('aria-valuetext')")
        if re.search(r"ago: imgd was restarted, [0-9]+ s$", said):
            break
    else:
        raise AssertionError(f"the gap is not read: {said}")
    assert "imgd was restarted" in browser.ask("document.querySelector('#hits .remark').textContent")
    browser.press("Escape")


def check_pictures(browser, programs, origin):
    """There are thumbnails, and the search finds some of them."""
    # The traffic comes to this one late where the origin is slow.
    programs.fetch(f"{origin.url}/alpine%20lake.png")
    browser.wait("document.querySelectorAll('#tiles img.there').length >= 8")
    browser.ask("document.querySelector('#search').focus()")
    browser.type("PINE lak")
    browser.wait("document.querySelector('#pictures-title').textContent === 'Found'")
    found = browser.ask("[...document.querySelectorAll('#tiles .name')].map((name) => name.textContent).join()")
    assert found == "alpine lake.png", found
    browser.ask("(() => { const box = document.querySelector('#search'); box.value = 'nowhere.example'; "
                "box.dispatchEvent(new Event('input')); })()")
    browser.wait("document.querySelector('#tiles .empty') !== null")
    browser.ask("(() => { const box = document.querySelector('#search'); box.value = ''; "
                "box.dispatchEvent(new Event('input')); })()")
    browser.wait("document.querySelectorAll('#tiles .tile').length >= 8")


def check_detail(browser, programs):
    """One picture is shown whole, and opened as it is in the cache."""
    browser.wait("document.querySelector('#detail-picture img.there') !== null")
    shown = browser.ask("(() => { const image = document.querySelector('#detail-picture img'); "
                        "return getComputedStyle(image).objectFit + ' ' + image.naturalWidth + ' × ' + image.naturalHeight; })()")
    browser.wait("document.querySelector('#detail-forms li') !== null")
    form = browser.ask("document.querySelector('#detail-forms').textContent")
    assert re.fullmatch(r"WEBP · 80 × 120[0-9.]+ (K?i?B) · disk, memory", form), form
    fit, width, _, height = shown.split(" ")
    facts = browser.ask("document.querySelector('#detail-facts').textContent")
    own = re.search(r"Dimensions(\d+) × (\d+)", facts)
    assert fit == "scale-down", shown
    assert abs(int(width) / int(height) - int(own[1]) / int(own[2])) < 0.02, (shown, facts)
    with urllib.request.urlopen(browser.ask("document.querySelector('#detail-cached').href"), timeout=60) as answer:
        assert answer.headers["Content-Type"] == "image/png" and answer.read(4) == b"\x89PNG"


def check_purge(browser, programs, directory):
    """A picture is removed with the token, and only with it."""
    tile = "[...document.querySelectorAll('.tile')].find((tile) => tile.textContent.includes('harbour-at-dawn'))"
    browser.wait(f"{tile} !== undefined")
    browser.ask(f"{tile}.click()")
    browser.wait("document.querySelector('#detail').open && "
                 "document.querySelector('#detail-facts').textContent.includes('memory')")
    check_detail(browser, programs)
    browser.shoot(f"{directory}/detail.png")
    browser.ask("document.querySelector('#detail-purge').click()")
    browser.wait("document.activeElement.id === 'token'")
    browser.type("not the token at all")
    browser.press("Enter", "\r")
    browser.wait("document.querySelector('#detail-outcome').textContent.startsWith('Not removed')")
    browser.type(programs.token)
    browser.press("Enter", "\r")
    browser.wait("!document.querySelector('#detail').open")
    browser.wait("document.querySelector('#said').textContent.startsWith('Removed harbour')")


def check_theme(browser):
    """The button goes through the schemes."""
    seen = set()
    for _ in range(3):
        browser.ask("document.querySelector('#theme').click()")
        seen.add(browser.ask("getComputedStyle(document.body).backgroundColor + document.querySelector('#theme-name').textContent"))
    assert len(seen) == 3, seen


def check_restart(browser, programs):
    """The page says that the daemon has gone, and goes on when it is back."""
    programs.stop("imgd")
    browser.wait("document.querySelector('#state').textContent === 'No daemon'")
    assert browser.ask("!document.querySelector('#notice').hidden"), "no notice"
    programs.start_daemon()
    browser.wait("document.querySelector('#state').textContent === 'Live'")
    check_gap(browser)
    programs.stop("imgd-http")
    browser.wait("document.querySelector('#state').textContent === 'Reconnecting…'")
    programs.start_gateway()
    browser.wait("document.querySelector('#state').textContent === 'Live'")


def main():
    build, directory = sys.argv[1], sys.argv[2]
    os.makedirs(directory, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="imgd-page-") as place, Origin() as origin, \
            Programs(build, place) as programs, Browser() as browser:
        programs.start_daemon()
        programs.start_gateway()
        browser.show_as(1400, 1000)
        browser.open(f"{programs.url}/")
        browser.wait("document.querySelector('#state')?.textContent === 'Live'")
        browser.wait("document.querySelector('#ratio .nothing').textContent.startsWith('Nothing was looked up in the last ')")
        assert browser.ask("document.querySelector('#under-way').hidden"), "a panel without fetches"
        browser.shoot(f"{directory}/empty.png")
        with traffic(programs, origin):
            check_fetches(browser)
            shoot_all(browser, directory, "busy")
            check_pictures(browser, programs, origin)
            check_plots(browser)
        programs.fetch(f"{origin.url}/harbour-at-dawn.png", "&width=80&format=webp")
        for _ in range(2):
            with contextlib.suppress(urllib.error.HTTPError):
                programs.fetch(f"{origin.url}/missing.png")
        check_rest(browser)
        check_stillness(browser, programs, origin)
        check_fold(browser)
        shoot_all(browser, directory, "idle")
        # The refusal of a wrong token is a message in the browser's log as well, and so is a lost connection.
        assert not browser.complaints, browser.complaints
        check_opening(browser, programs)
        check_theme(browser)
        check_purge(browser, programs, directory)
        check_restart(browser, programs)
        violations = [line for line in browser.complaints if "Content Security Policy" in line or line.startswith("security")]
        assert not violations, violations
    print(f"the page is as it should be; pictures of it are in {directory}")


if __name__ == "__main__":
    main()

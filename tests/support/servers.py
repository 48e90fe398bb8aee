"""Starts the news site, the responder and the load generator in processes of their own."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from scaling.run.process_tree import runs
from tests.support.children import PATIENCE_S, environment
from workers.services.native import PREFIX

# Whatever Python would warn of (an unclosed socket, a task never awaited) is an error here.
STRICT = ("-X", "dev", "-W", "error")
GENERATOR = ("-m", "workers.services.load")


def site_command(*options: str) -> list[str]:
    """The command that serves the news, with two list pages unless the options say otherwise."""
    return [sys.executable, *STRICT, "-m", "workers.services.site", "--pages=2", *options]


def responder_command(*options: str) -> list[str]:
    """The command that serves answers, after 10 ms unless the options say otherwise."""
    return [sys.executable, *STRICT, "-m", "workers.services.responder", *options]


def generator_command(*options: str, program: Sequence[str] = GENERATOR) -> list[str]:
    """The command that sends requests; `program` is a part of it alone, or a variant."""
    return [sys.executable, *STRICT, *program, *options]


@contextlib.contextmanager
def start(
    *options: str, command: Callable[..., list[str]] = site_command, **variables: str
) -> Iterator["subprocess.Popen[str]"]:
    """Start a server with pipes as its standard streams; it ends with the block.

    `variables` are added to its environment.
    """
    with subprocess.Popen(
        command(*options),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**variables),
        # A shell that starts us in the background has us, and so our children, ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as site:
        try:
            yield site
        finally:
            if site.poll() is None:  # a test that failed must not wait for it for ever
                for member in family(site.pid):
                    member.kill()


def ready(site: "subprocess.Popen[str]") -> dict[str, Any]:
    """Wait until the site answers; return the facts that it prints then."""
    assert site.stdout
    line = site.stdout.readline()
    assert line, site.communicate()[1]
    facts: dict[str, Any] = json.loads(line)
    return facts


def last_words(site: "subprocess.Popen[str]") -> str:
    """Close the site's input, wait for its end, and return what it printed after it was ready.

    Without the warnings of asyncio's debug mode about slow callbacks: on a busy machine any may be.
    """
    out, errors = site.communicate(timeout=PATIENCE_S)
    return out + "".join(line for line in errors.splitlines(True) if " took " not in line)


@contextlib.contextmanager
def running_site(*options: str, command: Callable[..., list[str]] = site_command) -> Iterator[str]:
    """Serve the news while the block runs; give its URL. Nothing may be printed on stderr."""
    with start("--until-eof", *options, command=command) as site:
        url: str = ready(site)["urls"][0]
        try:
            yield url
        finally:
            printed = last_words(site)
        assert (site.returncode, printed) == (0, "")


def running_responder(*options: str) -> contextlib.AbstractContextManager[str]:
    """Answer while the block runs; give the URL."""
    return running_site(*options, command=responder_command)


def kill_valkey(place: Path) -> None:
    """Kill the cache, or the broker, that runs in a folder below `place`."""
    for each in family(os.getpid()):
        if "valkey" in each.name() and each.cwd().startswith(str(place)):
            each.kill()


def left_in(place: Path) -> list[str]:
    """Folders of services but for PostgreSQL's, which lives longer, and processes of Valkey."""
    inside = []
    for each in psutil.process_iter(["name"]):
        if "valkey" in (each.info["name"] or ""):
            with contextlib.suppress(psutil.Error):  # it has just ended
                inside += [str(each.pid)] if each.cwd().startswith(str(place)) else []
    folders = [path for path in place.glob(f"{PREFIX}*") if not (path / "data").exists()]
    return [*inside, *(path.name for path in folders)]


def family(pid: int) -> list[psutil.Process]:
    """A process and all that it has started."""
    return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]


def gone(processes: list[psutil.Process]) -> bool:
    """Whether all of these end in time (one that waits to be reaped has); if not, end them."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        _, processes = psutil.wait_procs(processes, timeout=0.05)
        processes = [each for each in processes if runs(each)]
        if not processes:
            return True
    for each in processes:
        each.kill()
    return False


def fetch(url: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    """Ask for a page; return status, headers and body."""
    parts = urlsplit(url)
    with contextlib.closing(
        http.client.HTTPConnection(parts.netloc, timeout=PATIENCE_S)
    ) as connection:
        connection.request(method, f"{parts.path}?{parts.query}" if parts.query else parts.path)
        response = connection.getresponse()
        return response.status, dict(response.headers), response.read()

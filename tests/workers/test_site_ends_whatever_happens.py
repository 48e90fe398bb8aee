"""A service ends when asked to, and when its parent is gone, without printing anything."""

import signal
import subprocess
import sys

import pytest

from tests.support.children import PATIENCE_S
from tests.support.servers import (
    environment,
    family,
    gone,
    last_words,
    ready,
    responder_command,
    site_command,
    start,
)

pytestmark = [pytest.mark.slow, pytest.mark.one_build]

ONE_AND_TWO = pytest.mark.parametrize("processes", ["--processes=1", "--processes=2"])


@ONE_AND_TWO
def test_the_end_of_its_input_ends_it(processes: str) -> None:
    with start("--until-eof", processes) as site:
        ready(site)
        members = family(site.pid)
        assert len(members) == (3 if processes.endswith("2") else 1)
        assert last_words(site) == ""
    assert site.returncode == 0
    assert gone(members)


@pytest.mark.parametrize(
    ("number", "processes"),
    [
        (signal.SIGTERM, "--processes=1"),
        (signal.SIGINT, "--processes=1"),
        (signal.SIGTERM, "--processes=2"),
    ],
)
def test_a_signal_ends_it(number: signal.Signals, processes: str) -> None:
    with start("--until-eof", processes) as site:
        ready(site)
        members = family(site.pid)
        site.send_signal(number)
        assert site.wait(PATIENCE_S) == 0
        assert last_words(site) == ""
    assert gone(members)


@ONE_AND_TWO
def test_a_killed_parent_takes_it_along(processes: str) -> None:
    """The parent holds the other end of the site's input and gets no chance to close it."""
    parent_code = f"""
import subprocess, time
site = subprocess.Popen({site_command("--until-eof", processes)!r}, stdin=subprocess.PIPE)
time.sleep({PATIENCE_S})
"""
    with subprocess.Popen(
        [sys.executable, "-c", parent_code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as parent:
        members = family(ready(parent)["pid"])
        parent.kill()
        assert gone(members)
        assert last_words(parent) == ""


@ONE_AND_TWO
def test_the_responder_ends_like_the_site(processes: str) -> None:
    with start("--until-eof", processes, command=responder_command) as responder:
        ready(responder)
        members = family(responder.pid)
        assert last_words(responder) == ""
    assert responder.returncode == 0
    assert gone(members)


def test_a_member_that_dies_ends_the_others() -> None:
    with start("--until-eof", "--processes=2") as site:
        ready(site)
        members = family(site.pid)
        members[1].kill()
        assert site.wait(PATIENCE_S) == 1
        last_words(site)
    assert gone(members)

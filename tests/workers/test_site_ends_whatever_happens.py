"""A service ends when asked to, and for a bad option with a message.

That it ends with its standard input is part of every test that starts one.
"""

import contextlib
import signal
import socket

import pytest

from tests.support.children import PATIENCE_S, captured
from tests.support.servers import family, gone, last_words, ready, site_command, start
from workers.services.responder.__main__ import main as answer
from workers.services.site.__main__ import main

pytestmark = pytest.mark.one_build


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_member_that_dies_ends_the_others() -> None:
    with start("--until-eof", "--processes=2") as site:
        ready(site)
        members = family(site.pid)
        members[1].kill()
        assert site.wait(PATIENCE_S) == 1
        last_words(site)
    assert gone(members)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--pages=0", "at least 1"),
        ("--pages=many", "--pages"),
        ("--delay-ms=-1", "0 to 60000"),
        ("--delay-ms=nan", "0 to 60000"),
        ("--port=65536", "0 to 65535"),
        ("--processes=0", "at least 1"),
        ("--seed=x", "--seed"),
        ("--sed=1", "--sed"),
        ("--port=65535 --processes=2", "2 ports from there end above 65535"),
        ("--host=256.256.256.256", "cannot listen on 256.256.256.256"),
    ],
)
def test_it_says_what_was_expected(
    option: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(option.split())
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err.rpartition("error:")[2]


@pytest.mark.parametrize(
    ("option", "message"),
    [("--body-bytes=-1", "0 to"), ("--delay-ms=-1", "0 to 60000"), ("--pages=1", "--pages")],
)
def test_the_responder_says_what_it_expected(
    option: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        answer([option])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err.rpartition("error:")[2]


@pytest.mark.slow
def test_a_taken_port_is_named() -> None:
    """By the one of two processes that wants it."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        done = captured(site_command(f"--port={port}", "--processes=2"))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"port {port}" in done.stderr
    assert "Traceback" not in done.stderr

"""A service ends when asked to, and for a bad option with a message.

That it ends with its standard input is part of every test that starts one.
"""

import contextlib
import signal
import socket
from collections.abc import Callable

import pytest

from tests.support.children import PATIENCE_S, captured
from tests.support.servers import family, gone, last_words, ready, site_command, start
from workers.services.responder.__main__ import main as responder
from workers.services.site.__main__ import main as site

pytestmark = pytest.mark.one_build


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "killed", "code"),
    [(signal.SIGTERM, 0, 0), (signal.SIGKILL, 1, 1)],
    ids=["SIGTERM", "a member dies"],
)
def test_a_signal_ends_it(number: signal.Signals, killed: int, code: int) -> None:
    with start("--processes=2") as service:
        url = ready(service)["urls"][0]
        members = family(service.pid)
        members[killed].send_signal(number)
        assert service.wait(PATIENCE_S) == code
        assert f"{url}/news" in last_words(service)  # what it said in the beginning
    assert gone(members)


@pytest.mark.parametrize(
    ("main", "option", "message"),
    [
        (site, "--pages=0", "at least 1"),
        (site, "--delay-ms=nan", "0 to 60,000"),
        (site, "--port=65536", "0 to 65,535"),
        (site, "--sed=1", "--sed"),
        (site, "--port=65535 --processes=2", "2 ports from there end above 65535"),
        (site, "--host=256.256.256.256", "cannot listen on 256.256.256.256"),
        (responder, "--body-bytes=-1", "0 to"),
    ],
)
def test_it_says_what_was_expected(
    main: Callable[[list[str]], int], option: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(option.split())
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err.rpartition("error:")[2]


@pytest.mark.slow
def test_a_taken_port_is_named() -> None:
    """By the one of two processes that wants it."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        done = captured(site_command(f"--port={port}", "--processes=2"))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"port {port}" in done.stderr
    assert "Traceback" not in done.stderr

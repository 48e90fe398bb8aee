"""A bad option of a service is refused with a message and exit code 2."""

import contextlib
import socket
import subprocess

import pytest

from tests.support.children import PATIENCE_S
from tests.support.servers import environment, site_command
from workers.services.responder.__main__ import main as answer
from workers.services.site.__main__ import main

pytestmark = pytest.mark.one_build


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
        ("--host=256.256.256.256", "cannot listen on 256.256.256.256"),
    ],
)
def test_it_says_what_was_expected(
    option: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([option])
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


def test_ports_must_fit(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--port=65535", "--processes=2"])
    assert "2 ports from there end above 65535" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["--processes=1", "--processes=2"])
def test_a_taken_port_is_named(processes: str) -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            site_command(f"--port={port}", processes),
            capture_output=True,
            text=True,
            env=environment(),
            timeout=PATIENCE_S,
        )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"port {port}" in done.stderr
    assert "Traceback" not in done.stderr

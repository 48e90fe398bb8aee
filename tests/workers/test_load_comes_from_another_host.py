"""The load generator may be on another host: in another network, with a clock of its own.

The other host is a network namespace, and a time namespace whose clock is a day ahead, where the
system permits these; else a generator here that reaches the workers at another address.
"""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from scaling.base.errors import ScalingError, UsageError
from scaling.run.cluster.elsewhere import MODULE, reached, ready
from scaling.run.load import Elsewhere, GeneratorProgram
from tests.support.children import ROOT
from tests.support.serving import served

DAY_S = 86_400
LOAD = (sys.executable, "-m", "workers.services.load")
OTHER_CLOCK = ("unshare", "--time", f"--monotonic={DAY_S}", "--fork", "--kill-child")


def permitted(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


@pytest.fixture
def another_host() -> Iterator[tuple[list[str], str]]:
    """What starts a program there, and the address at which it reaches us."""
    name = f"load{os.getpid()}"
    net = os.getpid() % 250
    ours, theirs = f"10.231.{net}.1", f"10.231.{net}.2"
    inside = ("ip", "netns", "exec", name)
    commands = (
        ("ip", "link", "add", f"v{name}", "type", "veth", "peer", "name", "peer", "netns", name),
        ("ip", "addr", "add", f"{ours}/24", "dev", f"v{name}"),
        ("ip", "link", "set", f"v{name}", "up"),
        (*inside, "ip", "addr", "add", f"{theirs}/24", "dev", "peer"),
        (*inside, "ip", "link", "set", "peer", "up"),
    )
    if not permitted("ip", "netns", "add", name):
        yield [], "127.0.0.2"
        return
    try:
        linked = all(permitted(*command) for command in commands)
        clock = OTHER_CLOCK if permitted(*OTHER_CLOCK, "true") else ()
        yield ([*inside, *clock], ours) if linked else ([], "127.0.0.2")
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def program(command: list[str], address: str) -> GeneratorProgram:
    there = Elsewhere(command=["env", f"PYTHONPATH={ROOT}", *command, *LOAD], address=address)
    return GeneratorProgram(python="", environment={}, elsewhere=there)


@pytest.mark.slow
def test_it_sends_the_load_of_the_window_by_its_own_clock(
    another_host: tuple[list[str], str],
) -> None:
    command, address = another_host
    ending = served(
        "serve", generators=program(command, address), workers=2, address=address, window_s=0.5
    )
    assert ending.outcome == "measured", ending.stderr
    load = ending.load
    assert load is not None
    assert load.elsewhere
    assert load.cpus is None
    assert load.errors == {}
    assert load.offered == 100  # 200 a second, at a constant pace
    assert sum(load.latency.count) == load.completed > 0
    assert load.completed + sum(load.unfinished.count) == load.offered
    assert max(load.latency.value_ns) < DAY_S * 1e9 / 2  # one host's clock throughout


@pytest.mark.slow
@pytest.mark.one_build
def test_a_host_is_made_ready_before_a_study() -> None:
    build = f"3.{sys.version_info.minor}"
    command = [sys.executable, "-m", MODULE, build, "child"]
    found = ready(["env", f"PYTHONPATH={ROOT}", *command], address="127.0.0.2")
    assert found.address == "127.0.0.2"
    assert found.cores >= 1
    with pytest.raises(ScalingError, match="IPv4 only"):
        ready(["env", f"PYTHONPATH={ROOT}", *command], address="::1")
    with pytest.raises(ScalingError, match=r"there is no build '3\.99'"):
        ready([sys.executable, "-m", MODULE, "3.99", "child"])


def test_a_host_is_named_as_ssh_knows_it() -> None:
    with pytest.raises(UsageError, match="expected a host that ssh knows"):
        reached("-oProxyCommand=x", "python3")


def test_a_command_listens_on_the_loopback_only() -> None:
    ending = served(
        "workers.workloads.app:App",
        generators=program([], "127.0.0.2"),
        address="127.0.0.2",
        parameters={"application": "x:y", "server": "uvicorn"},
    )
    assert ending.outcome != "measured"
    assert "a command listens on 127.0.0.1 only, not on (hidden)" in ending.stderr

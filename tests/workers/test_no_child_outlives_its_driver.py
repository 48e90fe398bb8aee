"""A killed driver leaves no child behind: a child without a driver ends by itself.

`nox -s faults` kills drivers at random instants; here one is killed at each point of a run.
"""

import json
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from scaling.builds.ready.imports import IMPORT_EACH
from scaling.run.application_trial import FIND_OUT
from tests.support.children import OF_COMPUTE, PATIENCE_S, Own, each_case, environment
from tests.support.waiting import end, is_gone, says, wait_until

pytestmark = pytest.mark.slow

# Says which processes it runs in, once each worker is at the point `when`.
LONG = """
    @dataclass
    class Theirs(Workload):
        when: Literal["import", "setup", "traffic"] = parameter("traffic", "where it stays")
        deaf: bool = parameter(False, "whether it hears of nothing meanwhile")

        def load(self) -> None:
            if self.when == "import":
                self._stay()

        async def setup(self, worker: Worker) -> None:
            if self.when == "setup":
                self._stay()
                await asyncio.sleep(3600)

        async def run(self, worker: Worker) -> None:
            if self.when == "traffic":
                self._stay()
            await worker.stopped()

        def _stay(self) -> None:
            with open(os.environ["PIDS"], "a") as pids:
                pids.write(f"{os.getpid()} {os.getppid()}\\n")
            if self.deaf:
                time.sleep(3600)
    """

DRIVER = """
import json, os, sys
from scaling.run.child import Child, Run, run_child

environment = dict(os.environ)
run_child(Run(Child(sys.executable, environment), json.loads(sys.argv[1])))
"""


@each_case(
    ("model", "when", "deaf"),
    [
        ("threads", "traffic", False),
        ("processes", "import", False),
        ("forked", "setup", True),
    ],
)
def test_all_end_when_the_driver_is_killed(own: Own, model: str, when: str, deaf: bool) -> None:
    pids_file = own.folder / "pids"
    cell = {
        "workload": own.write(LONG),
        "parameters": {"when": when, "deaf": deaf},
        "model": model,
        "workers": 2,
        "warmup_s": 0,
        "window_s": 3600,
        "ticks": 1,
    }
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, json.dumps(cell)],
        env=environment(own.folder, PIDS=str(pids_file), HOME=str(Path.home())),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: says(pids_file, lines=2))
        seen = {int(word) for word in pids_file.read_text().split()} - {driver.pid}
        assert len(seen) == (3 if model in ("processes", "forked") else 1)
        assert not any(map(is_gone, seen))
        driver.kill()
        driver.wait(PATIENCE_S)
        wait_until(lambda: all(map(is_gone, seen)))
    finally:
        end(driver)


ASKED = """
    import os
    from shop import app as answering

    async def app(scope, receive, send):
        if scope["type"] == "http":
            with open(PIDS, "a") as pids:
                pids.write(f"{os.getpid()}\\n")
        await answering(scope, receive, send)
"""
LOADED = """
import sys
from pathlib import Path
from tests.support.serving import served

command = {"application": "asked:app", "server": "command", "command": sys.argv[2]}
served("app", Path(sys.argv[1]), model="processes", workers=2, window_s=3600, parameters=command)
"""
UVICORN = f"{sys.executable} -m uvicorn asked:app --port {{port}} --workers {{workers}}"


@pytest.mark.one_build
@pytest.mark.skipif(sys.platform != "linux", reason="commands are measured there")
def test_a_command_under_load_ends_with_its_driver(shop: Path) -> None:
    """With all that it has started, in whatever session, and with the load generator."""
    pids_file = shop / "pids"
    (shop / "asked.py").write_text(textwrap.dedent(ASKED) + f"PIDS = {str(pids_file)!r}\n")
    driver = subprocess.Popen(
        [sys.executable, "-c", LOADED, str(shop), f"sh -c 'setsid {UVICORN} & wait'"],
        env=environment(shop, HOME=str(Path.home())),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: says(pids_file, lines=100))
        started = {each.pid for each in psutil.Process(driver.pid).children(recursive=True)}
        seen = started | set(map(int, pids_file.read_text().split()))
        assert len(seen) >= 4  # who measures and who loads, the server and its workers
        driver.kill()
        driver.wait(PATIENCE_S)
        wait_until(lambda: all(map(is_gone, seen)))
    finally:
        end(driver)


HANGING = """
import os, time
with open("pid", "w") as pid:
    pid.write(f"{os.getpid()}\\n")
time.sleep(3600)
"""
QUESTIONS = {
    "description": ["-c", OF_COMPUTE, "--describe", "--workload", "hanging:Theirs"],
    "interface": ["-c", FIND_OUT, '["hanging:app", false, "auto", ""]', ""],
    "readiness": ["-c", IMPORT_EACH, '[["hanging"], [], 3600]'],
}


@pytest.mark.one_build
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends it there")
@pytest.mark.parametrize(
    ("question", "by"),
    [
        ("description", signal.SIGTERM),
        ("interface", signal.SIGKILL),
        ("readiness", signal.SIGKILL),
    ],
)
def test_an_import_that_never_ends_does_with_the_driver(
    question: str, by: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "hanging.py").write_text(HANGING)
    ask = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    driver = subprocess.Popen(
        [sys.executable, "-c", ask, sys.executable, *QUESTIONS[question]],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: says(tmp_path / "pid"))
        asked = int((tmp_path / "pid").read_text())
        driver.send_signal(by)
        driver.wait(PATIENCE_S)
        wait_until(lambda: is_gone(asked))
    finally:
        end(driver)

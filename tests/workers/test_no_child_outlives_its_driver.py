"""A killed driver leaves no child behind: a child without a driver ends by itself.

`nox -s faults` kills drivers at random instants; here one is killed at each point of a run.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.children import PATIENCE_S, Own, each_case, environment
from tests.support.drivers import end
from tests.support.waiting import is_gone, says, wait_until

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
from scaling.run.child import Child, run_child

environment = dict(os.environ)
run_child(Child(sys.executable, environment), json.loads(sys.argv[1]))
"""


@each_case(
    ("model", "when", "deaf"),
    [
        ("threads", "traffic", False),
        ("threads", "setup", True),
        ("processes", "import", False),
        ("processes", "setup", True),
        ("forked", "setup", True),
        ("interpreters", "traffic", False),
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

"""A small study that is really measured: once, for all tests that look at what it left."""

from pathlib import Path

import pytest

from tests.support.cli import BUILD, scaling
from tests.support.once import made_once

SMALL = [
    *("--arm", BUILD, "--workload", "echo", "--loop", "asyncio", "--workers", "1,2"),
    *("--seconds", "0.2", "--model", "threads"),
]
TWO_BLOCKS = [*SMALL, "--blocks", "2", "--pin"]
RUNS = 2 * (3 * 2 + 1)  # in a block echo and two controls at two Ns, and an A/A pair of echo


def measured_study(factory: pytest.TempPathFactory) -> Path:
    """The state folder in which `TWO_BLOCKS` was measured, without a terminal.

    Its folder `out` has the results, its file `printed` what the command printed.
    """

    def measure(folder: Path) -> None:
        done = scaling("run", *TWO_BLOCKS, "--output", "out", state=folder)
        assert done.returncode == 0, done.stderr
        (folder / "printed").write_text(done.stdout)

    return made_once(factory, "measured-study", measure)

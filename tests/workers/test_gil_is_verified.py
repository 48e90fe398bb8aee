"""The GIL is checked, not assumed, and the import that enabled it is named."""

from collections.abc import Callable
from pathlib import Path

import pytest

from scaling.journal.record import GilStates
from tests.support.children import FREE_THREADED, finish, measured
from tests.support.flips import compile_flips

pytestmark = pytest.mark.slow
NEEDS_COMPILER = pytest.mark.needs("cc")

ALWAYS_ON = GilStates(started=True, imported=True, opened=True, closed=True)
ALWAYS_OFF = GilStates(started=False, imported=False, opened=False, closed=False)
FLIPPED = GilStates(started=False, imported=True, opened=True, closed=True, enabled_by="flips")


@pytest.fixture(scope="module")
def flips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the extension `flips` in it, compiled for the running build."""
    return compile_flips(tmp_path_factory.mktemp("extension"))


@pytest.fixture
def flipping(theirs: Callable[[str], str]) -> str:
    return theirs("import flips\nfrom workers.workloads.compute import Compute as Theirs\n")


def test_state_of_the_build_is_read_at_four_moments() -> None:
    record = measured({"workload": "compute"})
    assert record.process.gil == (ALWAYS_OFF if FREE_THREADED else ALWAYS_ON)


@NEEDS_COMPILER
def test_extension_that_turns_it_on_is_named(flips: Path, flipping: str, tmp_path: Path) -> None:
    record = measured({"workload": flipping, "workers": 2}, tmp_path, flips)
    assert record.process.gil == (FLIPPED if FREE_THREADED else ALWAYS_ON)


@NEEDS_COMPILER
def test_every_process_is_looked_at(flips: Path, flipping: str, tmp_path: Path) -> None:
    cell = {"workload": flipping, "workers": 2, "model": "processes"}
    record = measured(cell, tmp_path, flips)
    assert record.process.gil == (ALWAYS_OFF if FREE_THREADED else ALWAYS_ON)  # the host's own
    for worker in record.workers:
        assert worker.process is not None
        assert worker.process.gil == (FLIPPED if FREE_THREADED else ALWAYS_ON)


@NEEDS_COMPILER
def test_forked_processes_have_the_state_of_the_host_that_imported(
    flips: Path, flipping: str, tmp_path: Path
) -> None:
    record = measured({"workload": flipping, "workers": 2, "model": "forked"}, tmp_path, flips)
    for process in (record.process, *(worker.process for worker in record.workers)):
        assert process is not None
        assert process.gil == (FLIPPED if FREE_THREADED else ALWAYS_ON)


@NEEDS_COMPILER
def test_extension_loaded_late_is_named_too(
    flips: Path, theirs: Callable[[str], str], tmp_path: Path
) -> None:
    workload = theirs(
        """
        from workers.workloads.compute import Compute
        @dataclass
        class Theirs(Compute):
            async def setup(self, worker: Worker) -> None:
                import flips
        """
    )
    gil = measured({"workload": workload}, tmp_path, flips).process.gil
    late = GilStates(started=False, imported=False, opened=True, closed=True, enabled_by="flips")
    assert gil == (late if FREE_THREADED else ALWAYS_ON)


@NEEDS_COMPILER
def test_sub_interpreter_that_refuses_it_says_so(
    flips: Path, flipping: str, tmp_path: Path
) -> None:
    done = finish({"workload": flipping, "model": "interpreters"}, tmp_path, flips)
    failure = done.record.failure
    assert failure is not None
    assert (done.code, failure.phase, failure.worker) == (1, "import", 0)
    assert "flips does not support loading in subinterpreters" in failure.error

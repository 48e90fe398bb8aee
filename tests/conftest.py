"""Fixtures that several files share."""

import gc
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import HealthCheck, find, settings
from hypothesis.strategies import booleans

from scaling.builds import installed
from scaling.builds.environments import workers_source_hash
from scaling.builds.installed import URLS
from scaling.builds.prepared_arm import described
from scaling.journal.record import Description
from tests.support import programs
from tests.support.builds import is_of_no_build
from tests.support.children import FREE_THREADED, Own, environment
from tests.support.cli import Command
from tests.support.deployed import SHOP
from tests.support.once import made_once

# A user's own server is no part of a test.
for name in URLS:
    os.environ.pop(name, None)

OF_OTHER_BUILD = "one_build" if FREE_THREADED else "free_threaded"
# A file says so where all of its tests are of the other build.
SVG = '<svg role="img" aria-label="a plot"></svg>'  # in place of a plot
ALL_OF_OTHER_BUILD = re.compile(rf"^pytestmark = (\[[^\]]*|.*)\b{OF_OTHER_BUILD}\b", re.MULTILINE)

# How long an example takes depends on the machine; no test asserts it.
settings.register_profile(
    "untimed",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
    max_examples=50,
)
settings.load_profile("untimed")

# Collecting takes a million objects, which live to the end: a third of its CPU time would go to
# looking among them for garbage, and again in every collection of a test. What tests make is freed
# without a collection but for few cycles, so that they are looked for as rarely as in a command.
gc.disable()
gc.set_threshold(50_000)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """A file whose tests are all of the other build is not imported, which may take seconds."""
    is_test = collection_path.match("test_*.py")
    return True if is_test and ALL_OF_OTHER_BUILD.search(collection_path.read_text()) else None


def pytest_collection_finish() -> None:
    """What was imported and collected is left alone by the garbage collector from here on."""
    find(booleans(), bool)  # Hypothesis asks the collector who has its random numbers, once
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that are of the other build are left out, and slow files come first: else cores are
    idle in the end, while the last of these go on.

    xdist gives each process an equal part of the list, which begins with slow files. Tests of a
    published study, or of a file, stay together: the same process reads the journal, or makes what
    the file needs, once. Every other part begins with the workers' tests, which wait half of the
    time, so that cores are busy meanwhile with those that compute.
    """
    here, elsewhere = (
        [each for each in items if bool(each.get_closest_marker(OF_OTHER_BUILD)) is is_left_out]
        for is_left_out in (False, True)
    )
    if nowhere := [each.nodeid for each in elsewhere if is_of_no_build(each.path, names_of(each))]:
        raise pytest.UsageError(f"no build runs {', '.join(nowhere)}")
    config.hook.pytest_deselected(items=elsewhere)
    groups: dict[str, list[pytest.Item]] = {}
    for each in here:
        groups.setdefault(_place(each), []).append(each)
    slow, quick = (
        [groups[place] for place in sorted(groups) if _is_slow(place, groups[place]) is is_slow]
        for is_slow in (True, False)
    )
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    parts = [slow[at::count][:: -1 if at % 2 else 1] for at in range(count)]
    for group in sorted(quick, key=len, reverse=True):
        min(parts, key=lambda part: sum(map(len, part))).append(group)
    items[:] = [item for part in parts for group in part for item in group]


def names_of(item: pytest.Item) -> set[str]:
    return {mark.name for mark in item.iter_markers()}


def _place(item: pytest.Item) -> str:
    """The published study that a test reads, or its file."""
    parameters = getattr(item, "callspec", None)
    return str((parameters and parameters.params.get("folder")) or item.path)


def _is_slow(place: str, group: list[pytest.Item]) -> bool:
    return not place.endswith(".py") or any(each.get_closest_marker("slow") for each in group)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test whose program is missing is skipped before anything is made for it."""
    programs.require(item)


@pytest.fixture(autouse=True)
def shell_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a user's shell says of colours and terminal is no part of a test."""
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture(autouse=True)
def machine_with_everything(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plans are those of a machine with every program, whatever this one has.

    A test that is marked with the programs that it needs sees this one: it runs them.
    """
    marks = request.node.iter_markers("needs")
    if all(mark.args and programs.MACHINE.keys() >= {*mark.args} for mark in marks):
        monkeypatch.setattr(installed, "program", lambda name: f"/pretended/{name}")
        monkeypatch.setattr(installed, "library", lambda name: Path("/pretended", name))


@pytest.fixture
def machine_with_nothing(machine_with_everything: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans are those of a machine on which no program or library is installed."""
    monkeypatch.setattr(installed, "program", lambda _name: None)
    monkeypatch.setattr(installed, "library", lambda _name: None)


@pytest.fixture
def own(tmp_path: Path) -> Own:
    """Runs a user's workload, whose module is in `tmp_path`."""
    return Own(tmp_path)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The folder of an application that people deploy, `shop:app`."""
    (tmp_path / "shop.py").write_text(textwrap.dedent(SHOP))
    return tmp_path


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    """Runs the command line in this very process, standing in `tmp_path`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCALING_STATE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")

    from scaling.cli import main  # with pandas: tests of workers do without

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["scaling", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        assert isinstance(code, int)
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return run


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that run in this process draw no plots and write empty pages: both take seconds."""
    monkeypatch.setattr("scaling.report.view.plots.drawings", lambda *_: [])
    monkeypatch.setattr("scaling.report.files.html", lambda *_: "")


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that measure in this process calibrate for a short time, and run nothing again.

    Other tests disturb most of these runs; making them again for that is tested elsewhere.
    """
    from scaling.run.services import Services

    short_s = 0.3
    monkeypatch.setattr("scaling.run.measure.CALIBRATION_WINDOW_S", short_s)
    monkeypatch.setattr(Services.ceiling, "__kwdefaults__", {"seconds": short_s})
    monkeypatch.setattr("scaling.run.session.RETRIES", 0)
    monkeypatch.setattr("scaling.run.time_left.ExtraTime.grant", lambda *_: None)


@pytest.fixture
def unrendered(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that look at words: no figure is rendered."""
    monkeypatch.setattr("scaling.report.render.svg.svg", lambda *_: SVG)


@pytest.fixture(scope="session")
def described_here(tmp_path_factory: pytest.TempPathFactory) -> Description:
    """What the Python that runs the tests can run: asked by one process, while the others wait."""

    def ask(_: Path | None = None) -> Description:
        return described(sys.executable, environment(), workers_source_hash())

    made_once(tmp_path_factory, "described-here", ask)
    return ask()

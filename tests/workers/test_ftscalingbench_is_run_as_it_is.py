"""CPython's own script is run by the interpreter of an arm, and what it prints is kept."""

import hashlib
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from scaling.analysis.results import StudyResults
from scaling.base.errors import ScalingError, UsageError
from scaling.builds.arms import parse_arm
from scaling.builds.prepared_arm import PreparedArm
from scaling.journal.beside import FTSCALINGBENCH_FILE
from scaling.journal.record import Description
from scaling.report.page.render import page
from scaling.report.tables.export import markdown
from scaling.run.ftscalingbench import (
    IN_SOURCE,
    free_threaded,
    parsed,
    run_script,
    script_at,
)
from tests.support.children import environment
from tests.support.cli import Command
from tests.support.cpython_source import extracted
from tests.support.studies import FakeStudy

pytestmark = pytest.mark.one_build

PRINTED = """\
Running benchmarks with 2 threads
object_cfunction           1.9x faster
thread_local_read          1.3x slower
"""


def arm(described: Description, name: str = "3.14t") -> PreparedArm:
    return PreparedArm(parse_arm(name), sys.executable, environment(), described, "yours")


@pytest.mark.slow
@pytest.mark.needs("cpython-source")
def test_the_script_itself_is_run(described_here: Description, tmp_path: Path) -> None:
    script = extracted(str(IN_SOURCE), tmp_path)
    said: list[str] = []
    found = run_script(script_at(script.parents[2]), [arm(described_here)], 2, said.append)
    (record,), failure = found
    assert not failure
    assert len(said) == 2
    assert record.sha256 == hashlib.sha256(script.read_bytes()).hexdigest()
    assert record.threads >= 1
    assert "thread_local_read" in record.speedups
    assert all(len(runs) == 2 and min(runs) > 0 for runs in record.speedups.values())


def test_slower_is_below_one() -> None:
    threads, speedups = parsed(PRINTED, "3.14t")
    assert threads == 2
    assert speedups == {"object_cfunction": 1.9, "thread_local_read": pytest.approx(1 / 1.3)}


def test_what_it_printed_is_shown_beside_the_study(
    described_here: Description, tmp_path: Path
) -> None:
    script = tmp_path / "ftscalingbench.py"
    script.write_text(f"print({PRINTED!r})")
    journal = FakeStudy(blocks=1).read(tmp_path / "study")
    folder = journal.path.parent
    assert script_at(tmp_path) == script
    found, failure = run_script(script, [arm(described_here)], 3, lambda _: None)
    assert not failure
    FTSCALINGBENCH_FILE.write(folder, found)
    (record,) = FTSCALINGBENCH_FILE.read(folder)
    assert record.speedups["object_cfunction"] == [1.9, 1.9, 1.9]
    results = StudyResults.of(journal)
    for shown in (markdown(results), page(results)):
        assert "CPython's ftscalingbench" in shown.replace("&#39;", "'")
        assert "thread_local_read" in shown


@pytest.mark.parametrize("printed", ["", "Running benchmarks with 2 threads\n", "1.2x faster"])
def test_other_output_is_refused(printed: str) -> None:
    with pytest.raises(ScalingError, match=r"on 3\.14t printed no speed-up"):
        parsed(printed, "3.14t")


def test_a_script_that_fails_says_why(described_here: Description, tmp_path: Path) -> None:
    script = tmp_path / "ftscalingbench.py"
    script.write_text("raise SystemExit('no such benchmark')")
    found, failure = run_script(script, [arm(described_here)], 1, lambda _: None)
    assert not found
    assert failure.endswith("failed (1): no such benchmark")


# Works once, and fails from then on.
FAILS_LATER = f"""
from pathlib import Path
Path(__file__).with_name("ran").mkdir()
print({PRINTED!r})
"""


@pytest.mark.usefixtures("undrawn")
def test_a_script_that_fails_takes_neither_answer_nor_what_was_printed_before(
    described_here: Description,
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = tmp_path / "ftscalingbench.py"
    script.write_text(FAILS_LATER)
    folder = FakeStudy(blocks=6).write(tmp_path / "study").parent
    plan = SimpleNamespace(study=SimpleNamespace(blocks=3))
    ready = SimpleNamespace(plan=plan, arms={"3.14t": arm(described_here)})
    monkeypatch.setattr("scaling.run.measure.prepared", lambda *_, **__: nullcontext(ready))
    monkeypatch.setattr("scaling.run.measure.measure", lambda *_: folder)
    monkeypatch.setattr("scaling.study.plan.table.announced", lambda _: ["3 cells"])
    done = command("run", "--ftscalingbench", str(script))
    assert done.returncode == 1
    assert "ftscalingbench on 3.14t failed" in done.stderr
    assert "THE ANSWER" in done.stdout
    (record,) = FTSCALINGBENCH_FILE.read(folder)
    assert record.speedups["object_cfunction"] == [1.9]


def test_where_it_cannot_be_run_is_said_before_anything_is_measured(
    described_here: Description, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"--ftscalingbench .*: expected ftscalingbench\.py"):
        script_at(tmp_path)
    other = tmp_path / "setup.py"
    other.touch()
    with pytest.raises(UsageError, match=r"setup\.py: expected ftscalingbench\.py"):
        script_at(other)
    with pytest.raises(UsageError, match=r"add --arm 3\.14t"):
        free_threaded([arm(described_here, "3.14"), arm(described_here, "3.14t+gil")])

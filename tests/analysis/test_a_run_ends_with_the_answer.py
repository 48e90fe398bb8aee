"""The end of `scaling run`: at most 24 lines of 80 columns, whatever was measured."""

import io
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from scaling.analysis.tables.study import Study
from scaling.base.console import new_console
from scaling.base.errors import ScalingError
from scaling.report.output import answered, finish
from scaling.report.render.terminal import LINES
from scaling.report.view.view import view_of
from scaling.run.progress import Counts, PlainLines
from scaling.run.time_left import Left
from tests.support.printing import printed_by
from tests.support.published import FOLDERS, name_of, study_of
from tests.support.runs import crashed
from tests.support.studies import FakeStudy

WIDTH = 80
COUNTED = "more rows with --details"
NAMES = ("compare", "serve", "app-fastapi")
ORDINARY = {each.name: each for each in FOLDERS if each.name in NAMES}
BOTH = FakeStudy(
    arms=("3.14", "3.14t"),
    models=("threads", "processes"),
    loops=("asyncio", "uvloop"),
    workers=(1, 2),
    blocks=8,
    ticks=4,
    aa_pairs=True,
)


def ended(study: Study, width: int = WIDTH, folder: Path = Path("results/x")) -> list[str]:
    """What a run prints at its end: paths and commands, its last three lines, are never cut."""
    lines = printed_by(lambda to: answered(study, folder, to), width).splitlines()
    assert len(lines) <= LINES, "\n".join(lines)
    assert all(cell_len(line.rstrip()) <= width for line in lines[:-3]), "\n".join(lines)
    return lines


@pytest.mark.parametrize("folder", ORDINARY.values(), ids=name_of)
def test_nothing_is_left_out_of_the_first_screen_of_an_ordinary_study(folder: Path) -> None:
    lines = ended(study_of(folder))
    assert lines[-3] == "page:   results/x/report.html"
    assert [line for line in lines if "more line" in line or "more row" in line] == []


def test_terminal_and_json_have_the_same_rows() -> None:
    study = BOTH.study
    (rows,) = view_of(study).record(study)["tables"].values()
    (grid,) = view_of(study).answers(study)
    assert len(rows) == len(grid.rows) == 2
    for row, texts in zip(rows, grid.rows, strict=True):
        over = row["throughput"]
        assert {"ratio", "low", "high", "word", "at_most_percent", "over_model"} <= over.keys()
        assert row["loop"] in texts[0].text
        assert float(texts[2].text.removesuffix("×")) == pytest.approx(over["ratio"], rel=0.01)
        assert row["mib_per_thread"]["point"] < row["mib_per_process"]["point"]


def test_commands_can_be_pasted() -> None:
    folder = "my results/it's & $x"
    lines = ended(BOTH.study, folder=Path(folder))
    (tables,) = [line for line in lines if line.startswith("tables:")]
    assert shlex.split(tables.partition(":")[2]) == ["scaling", "show", folder, "--details"]


def test_of_too_many_rows_the_last_are_left_out_and_counted() -> None:
    payloads = [{"payload_bytes": 2**size} for size in range(14)]
    lines = ended(replace(BOTH, variants={"echo": payloads}, aa_pairs=False, blocks=6).study)
    (counted,) = [line for line in lines if COUNTED in line]
    shown = sum("payload_bytes=" in line for line in lines)
    assert shown + int(counted.split()[0]) == 2 * len(payloads)


@pytest.mark.usefixtures("undrawn")
def test_a_study_without_a_valid_run_fails(tmp_path: Path) -> None:
    FakeStudy(workers=(1, 2), blocks=1, change=crashed).write(tmp_path)
    file = io.StringIO()
    with pytest.raises(ScalingError, match="none of the 2 runs is valid"):
        finish(tmp_path, new_console(file=file))
    assert "crashed" in file.getvalue()


def test_progress_in_a_log_is_short_however_many_blocks() -> None:
    file = io.StringIO()
    shown = PlainLines(Console(file=file, width=WIDTH))
    shown.begin(lambda: Counts(3000, 3000))
    for block in range(1000):
        for run in range(3):
            shown.finished(f"echo {run}", "9/s", Left(9))
            shown.invalid("throttled" if run else "gil", again=False)
        shown.block_done(block, f"block {block + 1} of 1000 done")
    shown.end()
    lines = file.getvalue().splitlines()
    assert len(lines) <= 60 - LINES - 5  # what the plan says before
    assert "  2 runs still invalid, excluded: throttled; 1 run with other issues" in lines
    assert lines[-1].startswith("  ") or "[3000/3000]" in lines[-1]

"""A sweep holds sections against each other that differ in one parameter, and in nothing else."""

import io
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.analysis.sections import Sweep, sections, sweeps
from scaling.analysis.table.load import Journal, read_journal
from scaling.journal.record import Line, RunLine
from scaling.report.tables.export import markdown
from scaling.report.tables.overview import sweep_grids
from scaling.report.terminal.show import Results
from tests.support.fabricate import Made, Variants, journal, with_, write
from tests.support.fabricate_finite import finite

RUNGS = ("nothing", "global", "lock")


def read(lines: Sequence[Line], tmp_path: Path) -> Journal:
    return read_journal(write(lines, tmp_path / "journal.jsonl"))


def studied(tmp_path: Path, made: Made) -> Journal:
    return read(journal(made), tmp_path)


def found(study: Journal) -> list[Sweep]:
    return sweeps(sections(study.frame, study.study), study.study)


def printed(study: Journal, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(Results(StudyResults.of(study)))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def rows_of(text: str) -> list[list[str]]:
    """The cells of a Markdown table's body."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_one_parameter_is_one_sweep_with_its_numbers_by_size(tmp_path: Path) -> None:
    variants: Variants = {
        "spawn": [{"tasks": n, "join": "wait"} for n in (1000, 200, 30)],
        "compute": [{}],
    }
    (sweep,) = found(studied(tmp_path, Made(variants=variants, workers=(1, 2), blocks=1)))
    assert sweep.title == "spawn by tasks · weak sizing"
    assert sweep.values == [30, 200, 1000]
    assert [section.label for section in sweep.sections] == [
        f"spawn · tasks={n}" for n in sweep.values
    ]


def test_words_stand_as_the_study_names_them(tmp_path: Path) -> None:
    variants = {"shared": [{"sharing": rung} for rung in ("lock", "nothing", "global")]}
    head, *runs = journal(Made(variants=variants, workers=(1,), blocks=1))
    (unsaid,) = found(read([head, *runs], tmp_path))
    assert unsaid.values == ["global", "lock", "nothing"]
    asked = {"workloads": [{"name": "shared", "parameters": {"sharing": [*RUNGS, "asyncio-lock"]}}]}
    (sweep,) = found(read([with_(head, study=asked), *runs], tmp_path))
    assert sweep.values == list(RUNGS)


def test_of_two_parameters_each_is_swept_at_every_value_of_the_other(tmp_path: Path) -> None:
    variants = {"gather": [{"fan_out": n, "join": j} for n in (10, 100) for j in ("wait", "list")]}
    told = {
        sweep.title: sweep.values
        for sweep in found(studied(tmp_path, Made(variants=variants, workers=(1,), blocks=1)))
    }
    assert told == {
        "gather · join=list by fan_out · weak sizing": [10, 100],
        "gather · join=wait by fan_out · weak sizing": [10, 100],
        "gather · fan_out=10 by join · weak sizing": ["list", "wait"],
        "gather · fan_out=100 by join · weak sizing": ["list", "wait"],
    }


def test_sections_that_differ_in_two_parameters_are_no_sweep(tmp_path: Path) -> None:
    variants: Variants = {
        "gather": [{"fan_out": 10, "join": "wait"}, {"fan_out": 100, "join": "list"}]
    }
    assert found(studied(tmp_path, Made(variants=variants, workers=(1,), blocks=1))) == []


def test_sizings_are_not_mixed(tmp_path: Path) -> None:
    variants = {"echo": [{"connections": n} for n in (8, 64)]}
    made = Made(variants=variants, sizings=("weak", "strong"), workers=(1,), blocks=1)
    assert [sweep.title for sweep in found(studied(tmp_path, made))] == [
        "echo by connections · weak sizing",
        "echo by connections · strong sizing",
    ]


def test_what_was_run_at_one_value_only_is_no_track_and_a_gap_is_blank(tmp_path: Path) -> None:
    variants = {"scrape": [{"delay_ms": ms} for ms in (0, 20, 50)]}
    head, *runs = journal(
        Made(variants=variants, arms=("3.14", "3.14t", "3.14t+gil"), workers=(1, 2), blocks=1)
    )

    def was_run(run: Line) -> bool:
        assert isinstance(run, RunLine)
        arm, delay = run.cell.arm, run.cell.parameters["delay_ms"]
        return arm == "3.14t" or delay == 0 or (arm == "3.14" and delay == 50)

    (sweep,) = found(read([head, *filter(was_run, runs)], tmp_path))
    assert [track.key.arm for track in sweep.tracks] == ["3.14", "3.14t"]
    gaps, whole = (track.at(2) for track in sweep.tracks)
    assert [point is None for point in gaps] == [False, True, False]
    assert all(whole)
    assert sweep_grids(sweep)[0].rows[1][1:] == ["–", "–"]


@pytest.fixture
def sized(tmp_path: Path) -> Journal:
    """Tasks that take longer the more there are, and on two workers a quarter longer."""

    def took_s(run: RunLine) -> float:
        tasks, n = run.cell.parameters["tasks"], run.cell.workers
        assert isinstance(tasks, int)
        return (tasks / 1e4) * (1 + 0.25 * (n - 1)) * (1 + run.block / 100)

    change = finite(took_s, 1_000, lambda run: {"ns_per_task": took_s(run) * 1e6, "ok_total": 9})
    variants = {"spawn": [{"tasks": n} for n in (10_000, 20_000)]}
    return read(journal(Made(variants=variants, workers=(1, 2, 4), blocks=3), change), tmp_path)


def test_a_cell_is_what_the_sections_have(sized: Journal) -> None:
    (sweep,) = found(sized)
    text = markdown(StudyResults.of(sized))
    throughput, speedup, peak, own = text.partition(f"### {sweep.title}")[2].split("**asyncio")[1:]
    assert throughput.startswith(" · 3.14t · threads: operations/s**\n")
    for (value, *cells), section in zip(rows_of(throughput), sweep.sections, strict=True):
        points = section.curves[0].points
        assert f"tasks={value.replace(',', '')}" in section.label
        assert cells == [str(point.throughput) for point in points]
        assert points[1].speedup.point == pytest.approx(1.6)
    assert [row[1:] for row in rows_of(speedup)] == [
        [str(point.speedup) for point in section.curves[0].points[1:]] for section in sweep.sections
    ]
    assert peak.startswith(" · 3.14t · threads: peak RSS MiB**\n")
    assert [row[1] for row in rows_of(peak)] == [
        str(section.curves[0].points[0].figures["peak_bytes"].scaled(2.0**-20, "MiB"))
        for section in sweep.sections
    ]
    assert own.startswith(" · 3.14t · threads: ns/task**\n")
    assert [row[0] for row in rows_of(own)] == ["10,000", "20,000"]
    assert r"| tasks | N = 1 | N = 2 | N = 4\* |" in own
    assert ": ok**" not in text


@pytest.mark.parametrize("width", [60, 80, 140])
def test_it_fits_the_terminal_however_many_workers_there_are(tmp_path: Path, width: int) -> None:
    workers = (1, 2, 4, 8, 16, 32, 64)
    variants = {"echo": [{"payload_bytes": n} for n in (256, 1024)]}
    study = studied(tmp_path, Made(variants=variants, workers=workers, blocks=2, ticks=2))
    text = printed(study, width)
    assert max(map(len, text.splitlines())) <= width
    heads = [line for line in text.splitlines() if line.split()[:2] == ["payload_bytes", "N"]]
    assert re.findall(r"N = (\d+)", " ".join(heads)) == [
        *(str(n) for n in workers),
        *(str(n) for n in workers if n > 1),  # of the speed-up
    ]
    assert (len(heads) > 2) == (width < 140)
    told = text[text.index("echo by payload_bytes") :]
    assert "Medians; beside them the range of 2 runs." in told


def test_a_study_without_a_sweep_reports_none(tmp_path: Path) -> None:
    study = studied(tmp_path, Made(variants={"echo": [{}], "compute": [{}]}, blocks=1))
    assert found(study) == []
    assert " by " not in markdown(StudyResults.of(study))

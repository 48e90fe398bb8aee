"""A sweep compares sections that differ in one parameter, and in nothing else."""

import re
from dataclasses import replace

import pytest

from scaling.analysis.results import StudyResults
from scaling.analysis.sections import Sweep, sweeps
from scaling.journal.record import Cell, RunLine
from scaling.report.tables.export import markdown
from scaling.report.tables.overview import sweep_grids
from scaling.report.terminal.show import Results
from tests.support.printing import printed
from tests.support.runs import finite
from tests.support.studies import FakeStudy, Variants

ONE_N = FakeStudy(workers=(1,), blocks=1, ticks=4)
RUNGS = ("nothing", "global", "lock")


def found(study: FakeStudy) -> list[Sweep]:
    results: StudyResults = study.results
    return sweeps(results.sections, results.study)


def rows_of(text: str) -> list[list[str]]:
    """The cells of a Markdown table's body."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_one_parameter_is_one_sweep_with_its_numbers_by_size() -> None:
    variants: Variants = {
        "spawn": [{"tasks": n, "join": "wait"} for n in (1000, 200, 30)],
        "compute": [{}],
    }
    (sweep,) = found(replace(ONE_N, variants=variants))
    assert sweep.title == "spawn by tasks · weak sizing"
    assert sweep.values == [30, 200, 1000]
    assert [section.label for section in sweep.sections] == [
        f"spawn · tasks={n}" for n in sweep.values
    ]


def test_words_stand_as_the_study_names_them() -> None:
    variants = {"shared": [{"sharing": rung} for rung in ("lock", "nothing", "global")]}
    study = replace(ONE_N, variants=variants)
    (unsaid,) = found(study)
    assert unsaid.values == ["global", "lock", "nothing"]
    asked = {"name": "shared", "parameters": {"sharing": [*RUNGS, "asyncio-lock"]}}
    (sweep,) = found(replace(study, options={"workloads": [asked]}))
    assert sweep.values == list(RUNGS)


def test_of_two_parameters_each_is_swept_at_every_value_of_the_other() -> None:
    variants = {"gather": [{"fan_out": n, "join": j} for n in (10, 100) for j in ("wait", "list")]}
    told = {sweep.title: sweep.values for sweep in found(replace(ONE_N, variants=variants))}
    assert told == {
        "gather · join=list by fan_out · weak sizing": [10, 100],
        "gather · join=wait by fan_out · weak sizing": [10, 100],
        "gather · fan_out=10 by join · weak sizing": ["list", "wait"],
        "gather · fan_out=100 by join · weak sizing": ["list", "wait"],
    }


def test_sections_that_differ_in_two_parameters_are_no_sweep() -> None:
    variants: Variants = {
        "gather": [{"fan_out": 10, "join": "wait"}, {"fan_out": 100, "join": "list"}]
    }
    assert found(replace(ONE_N, variants=variants)) == []


def test_sizings_are_not_mixed() -> None:
    variants = {"echo": [{"connections": n} for n in (8, 64)]}
    study = replace(ONE_N, variants=variants, sizings=("weak", "strong"))
    assert [sweep.title for sweep in found(study)] == [
        "echo by connections · weak sizing",
        "echo by connections · strong sizing",
    ]


def test_what_was_run_at_one_value_only_is_no_track_and_a_gap_is_blank() -> None:
    variants = {"scrape": [{"delay_ms": ms} for ms in (0, 20, 50)]}
    every = replace(ONE_N, variants=variants, arms=("3.14", "3.14t", "3.14t+gil"), workers=(1, 2))

    def was_run(cell: Cell) -> bool:
        delay = cell.parameters["delay_ms"]
        return cell.arm == "3.14t" or delay == 0 or (cell.arm == "3.14" and delay == 50)

    (sweep,) = found(replace(every, cells=list(filter(was_run, every.every_cell))))
    assert [track.key.arm for track in sweep.tracks] == ["3.14", "3.14t"]
    gaps, whole = (track.at(2) for track in sweep.tracks)
    assert [point is None for point in gaps] == [False, True, False]
    assert all(whole)
    assert sweep_grids(sweep)[0].rows[1][1:] == ["–", "–"]


def took_s(run: RunLine) -> float:
    """Tasks that take longer the more there are, and on two workers a quarter longer."""
    tasks, n = run.cell.parameters["tasks"], run.cell.workers
    assert isinstance(tasks, int)
    return (tasks / 1e4) * (1 + 0.25 * (n - 1)) * (1 + run.block / 100)


SIZED = FakeStudy(
    variants={"spawn": [{"tasks": n} for n in (10_000, 20_000)]},
    change=finite(took_s, 1_000, lambda run: {"ns_per_task": took_s(run) * 1e6, "ok_total": 9}),
)


def test_a_cell_is_what_the_sections_have() -> None:
    (sweep,) = found(SIZED)
    text = markdown(SIZED.results)
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


@pytest.mark.parametrize("width", [60, 140])
def test_there_is_a_column_for_each_n_however_many_there_are(width: int) -> None:
    workers = (1, 2, 4, 8, 16, 32, 64)
    variants = {"echo": [{"payload_bytes": n} for n in (256, 1024)]}
    study = FakeStudy(variants=variants, workers=workers, blocks=2, ticks=2)
    text = printed(Results(study.results), width=width)
    heads = [line for line in text.splitlines() if line.split()[:2] == ["payload_bytes", "N"]]
    assert re.findall(r"N = (\d+)", " ".join(heads)) == [
        *(str(n) for n in workers),
        *(str(n) for n in workers if n > 1),  # of the speed-up
    ]
    assert (len(heads) > 2) == (width < 140)
    told = text[text.index("echo by payload_bytes") :]
    assert "Medians; beside them the range of 2 runs." in told


def test_a_study_without_a_sweep_reports_none() -> None:
    study = replace(ONE_N, variants={"echo": [{}], "compute": [{}]})
    assert found(study) == []
    assert " by " not in markdown(study.results)

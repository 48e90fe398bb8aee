"""`scaling app` says what to ship for each aim, and why threads and processes differ."""

import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.analysis.served.ship import AppAnswer
from scaling.base import formats
from scaling.base.console import new_console
from scaling.cli import main
from scaling.journal.beside import AppCheck, Finding, write_check
from scaling.journal.record import Calibration, Cell
from scaling.report.application import application_grids, application_json
from scaling.report.output import finish
from scaling.report.page.render import page
from scaling.report.tables.findings import times
from scaling.report.terminal.app_answer import AppLines, figure_lines, print_app_answer
from tests.support.applications import application_study, results_of
from tests.support.fabricate import with_
from tests.support.html_outline import Outline

FASTER = {("3.14t", "threads"): 1_600.0}


@pytest.fixture(scope="module")
def faster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Threads answer 1.6 times as many requests as processes."""
    return application_study(tmp_path_factory.mktemp("faster"), speeds=FASTER)


def answer(path: Path) -> AppAnswer:
    found = results_of(path).application
    assert found
    return found


def test_threads_are_shipped_where_they_are_faster(faster: Path) -> None:
    found = {each.aim: each for each in answer(faster).shipped}
    throughput = found["throughput"]
    assert throughput.ratio.verdict.word == "faster"
    assert throughput.cell == throughput.ratio.of
    assert throughput.ratio.point == pytest.approx(1.6, rel=0.03)
    assert found["latency"].measure == "P99 at 400/s"


def test_processes_are_shipped_where_nothing_is_gained(tmp_path: Path) -> None:
    path = application_study(tmp_path, noise=0.001, blocks=8)
    (throughput,) = (each for each in answer(path).shipped if each.aim == "throughput")
    assert throughput.ratio.verdict.word == "same"
    assert throughput.cell == throughput.ratio.over


def test_nothing_is_shipped_on_too_few_blocks(tmp_path: Path) -> None:
    path = application_study(tmp_path, speeds=FASTER, blocks=2)
    found = answer(path).shipped
    assert {each.ratio.verdict.word for each in found} == {"inconclusive"}
    assert [each.cell for each in found] == [None] * len(found)
    document = json.loads(application_json(results_of(path)))
    assert document["ship"]["throughput"]["configuration"] is None


def test_the_two_factors_multiply_out_in_every_block(faster: Path) -> None:
    found = answer(faster).factors
    assert [each.whole.figure for each in found] == ["throughput", "cpu_s_per_op"]
    for each in found:
        whole, build, sharing = each.whole.blocks, each.build.blocks, each.sharing.blocks
        assert len(whole) == 6
        np.testing.assert_allclose(build * sharing, whole, rtol=1e-12)
    assert found[0].build.point == pytest.approx(1.6, rel=0.03)
    assert found[0].sharing.point == pytest.approx(1, rel=0.03)


@pytest.mark.slow
def test_latencies_are_at_the_stated_rate_and_not_at_one_of_the_grid(tmp_path: Path) -> None:
    results = results_of(application_study(tmp_path, rates=(0.0, 200.0, 400.0, 800.0)))
    entry = {"name": "app", "parameters": {"rate_per_s": [0.0, "half", "grid"]}}
    half = Calibration(
        workload="app",
        baseline=Cell(workload="app", loop="asyncio", arm="3.14", model="forked", workers=2),
        peak_per_s=1_600.0,
        rates={"half": 800.0, "grid 1 of 2": 200.0, "grid 2 of 2": 400.0},
    )
    study = with_(
        results.study, study={**results.study.study, "workloads": [entry]}, calibrations=[half]
    )
    found = StudyResults(results.frame, study).application
    assert found
    assert found.rate_per_s == 800.0


@pytest.mark.slow
def test_a_percentile_with_enough_requests_replaces_p99(tmp_path: Path) -> None:
    path = application_study(tmp_path, speeds=FASTER, window_s=2.0)  # 800 requests
    (latency,) = (each for each in answer(path).shipped if each.aim == "latency")
    assert latency.measure == "P95 at 400/s"
    assert all(math.isnan(each.p99_ms.point) for each in answer(path).figures)


@pytest.mark.slow
def test_p99_is_named_only_where_a_run_has_it(tmp_path: Path, faster: Path) -> None:
    """Too few requests for P99, in another one for any percentile."""
    few = application_study(tmp_path / "few", speeds=FASTER, window_s=2.0)
    none = application_study(tmp_path / "none", speeds=FASTER, rates=(0.0,))
    for path, known in ((faster, "P50, P99 in ms at 400/s; "), (few, "P50 in ms"), (none, "MiB")):
        results = results_of(path)
        found = results.application
        assert found
        title, headings, *_ = figure_lines(found, 80, 20)
        assert title.startswith(f"At the peak; {known}")
        (grid,) = (g for g in application_grids(results) if g.title == "Every configuration")
        for name in ("P50", "P99"):
            assert (name in title) == (name in headings) == (f"{name} ms" in grid.headings)


def test_threads_of_wsgi_are_compared_with_processes_of_the_same_server(tmp_path: Path) -> None:
    path = application_study(
        tmp_path,
        speeds=FASTER,
        configurations=(("3.14", "threads"), ("3.14", "processes"), ("3.14t", "threads")),
        servers={"threads": "gunicorn-gthread", "processes": "gunicorn"},
    )
    (throughput,) = (each for each in answer(path).shipped if each.aim == "throughput")
    assert (throughput.ratio.of.arm, throughput.ratio.of.model) == ("3.14t", "threads")
    assert (throughput.ratio.over.arm, throughput.ratio.over.model) == ("3.14", "processes")
    assert throughput.ratio.verdict.word == "faster"


def test_workers_that_fit_are_counted_from_one_and_the_slope(faster: Path) -> None:
    each = next(each for each in answer(faster).at_n if each.cell.model == "threads")
    each = replace(each, extra_mib=replace(each.extra_mib, point=10.0, low=8.0, high=12.5))
    assert each.fitting((each.first_mib + 100) * 2**20) == (9, 13)
    assert each.fitting((each.first_mib - 1) * 2**20) == (0, 0)
    unknown = replace(each, extra_mib=replace(each.extra_mib, low=-1.0))
    assert unknown.fitting((each.first_mib + 100) * 2**20) is None


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("blocks", [2, 6])
def test_the_answer_has_24_lines_of_80_columns(
    blocks: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    application_study(Path("r"), speeds=FASTER, blocks=blocks)
    finish(Path("r"), new_console(), memory_bytes=2 * 2**30)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    for said in (
        "THE ANSWER of app-shop, N = 2",
        "build, one loop",
        "Workers in 2.00 GiB, extrapolated from N ≤ 2: ",
        "P99",
    ):
        assert said in text


@pytest.mark.slow
@pytest.mark.parametrize(("speeds", "command"), [(FASTER, "scaling gate"), ({}, "scaling doctor")])
def test_where_an_aim_is_undecided_the_next_step_is_to_look_for_noise(
    speeds: dict[tuple[str, str], float],
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = results_of(application_study(tmp_path, speeds=speeds))
    print_app_answer(results, tmp_path, tmp_path / "report.html", new_console(), None)
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"next:   {command} ")


@pytest.mark.slow
def test_what_the_check_found_is_corrected_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = results_of(application_study(tmp_path, speeds=FASTER))
    crash = Finding(kind="crashed", request="", message="Segmentation fault", remedy="look for it")
    write_check(tmp_path, AppCheck(ok=False, findings=[crash]))
    print_app_answer(results, tmp_path, tmp_path / "report.html", new_console(), None)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "Check: 1 finding on several loops (crashed)."  # before any figure
    assert "correct what the check found" in " ".join(lines[-2:])
    assert len(lines) <= 24


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_the_page_has_the_answer_in_full(faster: Path) -> None:
    text = page(results_of(faster))
    begins = text.index("What to ship with N = 2:</strong> 3.14t threads for throughput")
    assert begins < text.index("Your application</h2>")
    for said in (
        "What to ship, N = 2",
        "P99 at 400/s",
        "the build, one loop",
        "sharing one process, N = 2",
        "MiB per extra worker",
        "All have loop asyncio and server loops. Latencies are at 400/s",
    ):
        assert said in text


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_the_page_states_each_ratio_in_one_table(faster: Path) -> None:
    results = results_of(faster)
    tables = Outline(page(results)).all("table")
    assert results.application
    for each in results.application.shipped:
        ratio = re.compile(f"{times(each.ratio)} ?{each.ratio.bounds}")
        named = [table.all("caption")[0].words for table in tables if ratio.search(table.words)]
        # The two factors multiply to the ratio of throughput, which stands beside them.
        factors = ["Why threads and processes differ"] if each.aim == "throughput" else []
        assert named == ["What to ship, N = 2", *factors]


def printed(results: StudyResults, memory_bytes: float | None = None) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=80, highlight=False).print(AppLines(results, memory_bytes))
    return out.getvalue().splitlines()


def test_figures_of_threads_and_of_the_best_processes_stand_side_by_side(faster: Path) -> None:
    results = results_of(faster)
    lines = printed(results)
    found = results.application
    assert found
    at_n = {(each.cell.arm, each.cell.model): each for each in found.at_n}
    columns = {"throughput": "throughput_per_s", "latency": "p99_ms"}
    for each in found.shipped:
        ours, theirs = (formats.number(value.point) for value in each.figures)
        if column := columns.get(each.aim):
            places = [(of.arm, of.model) for of in (each.ratio.of, each.ratio.over)]
            points = [getattr(at_n[place], column).point for place in places]
            assert [value.point for value in each.figures] == points
        unit = {"throughput": "requests/s", "memory": "MiB", "latency": "P99 ms"}[each.aim]
        pattern = rf"  {unit}.* +{ours} +{theirs}  {times(each.ratio)} \("
        assert [line for line in lines if re.match(pattern, line)], pattern
    assert re.match(r" +threads +processes  ratio, 95 % interval +to ship$", lines[1])
    assert "3.14t threads compared with the best processes: " in " ".join(lines)


def test_how_many_workers_fit_is_printed_when_asked(faster: Path) -> None:
    results = results_of(faster)
    assert results.study.machine.memory_bytes
    assert "Workers in" not in "\n".join(printed(results))
    assert "Workers in 2.00 GiB" in "\n".join(printed(results, 2 * 2.0**30))


def test_memory_of_forked_workers_is_bounded_by_what_they_may_copy(faster: Path) -> None:
    """Before and after the load, and of four times as many: as measured, and as fresh processes."""
    results = results_of(faster)
    found = results.application
    assert found
    copied = found.copied_on_write
    assert copied
    forked, workers = copied.forked, copied.workers
    assert (forked.cell.model, forked.cell.workers, workers) == ("forked", 2, 8)
    assert forked.idle_mib.point < forked.memory_mib.point
    (fresh,) = (
        each.memory_mib.point
        for each in found.figures
        if each.cell == forked.cell.but(model="processes", workers=1)
    )
    assert copied.most_mib == 8 * fresh
    assert copied.least_mib == forked.first_mib + 7 * forked.extra_mib.point < copied.most_mib
    before, after = (formats.number(of.point) for of in (forked.idle_mib, forked.memory_mib))
    assert f"forked: {before} MiB before the load, {after} after it; N = 8: " in " ".join(
        printed(results)
    )
    document = json.loads(application_json(results))["forked_memory"]
    assert document["before_load_mib"] == forked.idle_mib.point
    assert (document["least_mib"], document["most_mib"]) == (copied.least_mib, copied.most_mib)
    others = [each for each in found.figures if each.cell.model != "processes"]
    assert replace(found, figures=others).copied_on_write is None


def test_nothing_warns_of_controls_that_app_does_not_run(faster: Path) -> None:
    results = results_of(faster)
    assert results.soundness.status == "left out"
    assert results.soundness.text == results.soundness.warning == ""
    asked = {**results.study.study}
    del asked["application"]
    other = StudyResults(results.frame, with_(results.study, study=asked))
    assert other.soundness.text.startswith("Controls left out")


def test_reasons_are_in_plain_words(tmp_path: Path) -> None:
    path = application_study(tmp_path, blocks=6)
    results = results_of(path)
    frame = results.frame.copy()
    odd = frame.index[:2]
    frame["valid"] = ~frame.index.isin(odd)
    frame["validity"] = np.where(frame["valid"], "valid", "invalid")
    frame["reasons"] = [("mixed-allocator-state",) if at in odd else () for at in frame.index]
    frame["details"] = [("far",) if at in odd else () for at in frame.index]
    text = " ".join(printed(StudyResults(frame, results.study)))
    assert "Left out, invalid: 2 of " in text
    assert "malloc in another state than in most runs" in text
    assert "mixed-allocator-state" not in text


def test_json_has_every_configuration_with_bounds(faster: Path) -> None:
    document = json.loads(application_json(results_of(faster)))
    assert len(document["configurations"]) == 10
    for each in document["configurations"]:
        assert {"arm", "model", "server", "workers", "errors"} <= each.keys()
        for name in ("throughput_per_s", "p50_ms", "p99_ms", "cpu_ms_per_request", "memory_mib"):
            assert each[f"{name}_low"] <= each[name] <= each[f"{name}_high"]
        assert each["start_s"] > 0
    shipped = document["ship"]["throughput"]
    assert shipped["configuration"] == {"arm": "3.14t", "model": "threads", "workers": 2}
    assert shipped["verdict"] == "faster"
    assert shipped["interval"][0] <= shipped["ratio"] <= shipped["interval"][1]


@pytest.mark.slow
def test_gate_works_on_the_journal(
    faster: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slower = application_study(tmp_path)
    bounds = ["--max-regression", "10%", "--min-efficiency", "0.5"]
    for now, then, code in ((faster, slower, 0), (slower, faster, 1)):
        command = ["scaling", "gate", str(now), "--against", str(then), *bounds]
        monkeypatch.setattr("sys.argv", command)
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == code


def test_gate_has_nothing_to_say_of_a_schedule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = application_study(tmp_path, rates=(400.0,))
    monkeypatch.setattr("sys.argv", ["scaling", "gate", str(path), "--min-efficiency", "0.5"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "nothing but open loops" in capsys.readouterr().err

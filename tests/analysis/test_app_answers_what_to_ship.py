"""`scaling app` says what to ship for each aim, how to deploy it, and why threads and processes
differ.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scaling.analysis.results import StudyResults
from scaling.analysis.served.ship import AppAnswer, best_pool
from scaling.analysis.table.groups import counting_lines
from scaling.base import formats
from scaling.journal.beside import CHECK_FILE, AppCheck, Finding
from scaling.journal.record import Calibration, Cell, RunLine
from scaling.report import deploy
from scaling.report.application import application_grids, application_json
from scaling.report.deploy import deploy_commands
from scaling.report.output import finish, print_answer
from scaling.report.page.render import page
from scaling.report.tables.comparison import chapters
from scaling.report.tables.findings import times
from scaling.report.terminal.app_answer import app_lines, figure_lines
from tests.support.html_outline import Outline
from tests.support.printing import printed_by
from tests.support.runs import with_
from tests.support.served_studies import CONFIGURATIONS, FakeAppStudy
from tests.support.studies import in_memory

FASTER = FakeAppStudy(answers_per_s={("3.14t", "threads"): 1_600.0})
"""Threads answer 1.6 times as many requests as processes."""
SLOWER = FakeAppStudy(answers_per_s={("3.14t", "threads"): 600.0})
ALIKE = FakeAppStudy()
WORKER = "--worker-class"


def answer(study: FakeAppStudy) -> AppAnswer:
    found = study.results.application
    assert found
    return found


def lines_of(results: StudyResults, memory_bytes: float | None = None) -> list[str]:
    return app_lines(results, memory_bytes=memory_bytes)


def test_threads_are_shipped_where_they_are_faster() -> None:
    found = {each.aim: each for each in answer(FASTER).shipped}
    throughput = found["throughput"]
    assert throughput.ratio.verdict.word == "faster"
    assert throughput.cell == throughput.ratio.of
    assert throughput.ratio.point == pytest.approx(1.6, rel=0.03)
    assert found["latency"].measure == "P99 at 400/s"


def test_processes_are_shipped_where_nothing_is_gained() -> None:
    found = answer(replace(ALIKE, speed_noise=0.001, blocks=8)).shipped
    (throughput,) = (each for each in found if each.aim == "throughput")
    assert throughput.ratio.verdict.word == "same"
    assert throughput.cell == throughput.ratio.over


def with_pools(**answers_per_s: float) -> StudyResults:
    """Of threads without the GIL, by the size of each loop's pool; processes answer 1,000/s."""
    studies = [
        FakeAppStudy(
            parameters={"server": "loops", "pool": int(size[1:])},
            answers_per_s={("3.14t", "threads"): speed},
        )
        for size, speed in answers_per_s.items()
    ]
    head, *_ = studies[0].lines
    return StudyResults.of(in_memory([head, *(run for each in studies for run in each.runs)]))


def test_the_size_of_the_pools_that_is_proven_to_be_better_is_named_and_compared() -> None:
    results = with_pools(_1=800.0, _4=1_600.0, _40=1_300.0)
    found = results.application
    assert found
    assert found.pools["throughput"].verdict.word == "faster"
    assert best_pool(found.pools["throughput"]).parameters["pool"] == 4
    assert best_pool(found.pools["memory"]).parameters["pool"] == 1  # none needs less
    (throughput,) = (each for each in found.shipped if each.aim == "throughput")
    assert throughput.ratio.of.parameters["pool"] == 4
    text = " ".join(lines_of(results))
    assert "Threads in each of 2 loops' pools: 4 for requests/s (4 over 1: 2" in text
    titles = [grid.title for chapter in chapters(results) for grid in chapter.grids]
    assert "Threads in the pool of each loop" in titles


def test_without_proof_the_smallest_pool_is_named() -> None:
    found = with_pools(_1=1_000.0, _4=1_000.0).application
    assert found
    assert {best_pool(each).parameters["pool"] for each in found.pools.values()} == {1}


def test_nothing_is_shipped_on_too_few_blocks() -> None:
    few = replace(FASTER, blocks=2)
    assert {each.ratio.verdict.word for each in answer(few).shipped} == {"inconclusive"}
    assert {each.cell for each in answer(few).shipped} == {None}
    document = json.loads(application_json(few.results))
    assert document["ship"]["throughput"]["configuration"] is None


def test_the_two_factors_multiply_out_in_every_block() -> None:
    found = answer(FASTER).factors
    assert [each.whole.figure for each in found] == ["throughput", "cpu_s_per_op"]
    for each in found:
        whole, build, sharing = each.whole.blocks, each.build.blocks, each.sharing.blocks
        assert len(whole) == 6
        np.testing.assert_allclose(build * sharing, whole, rtol=1e-12)
    assert found[0].build.point == pytest.approx(1.6, rel=0.03)
    assert found[0].sharing.point == pytest.approx(1, rel=0.03)


def test_latencies_are_at_the_stated_rate_and_not_at_one_of_the_grid() -> None:
    entry = {"name": "app", "parameters": {"rate_per_s": [0.0, "half", "grid"]}}
    half = Calibration(
        workload="app",
        baseline=Cell(workload="app", loop="asyncio", arm="3.14", model="forked", workers=2),
        peak_per_s=1_600.0,
        rates={"half": 800.0, "grid 1 of 2": 200.0, "grid 2 of 2": 400.0},
    )
    study = replace(
        ALIKE,
        rates=(0.0, 200.0, 400.0, 800.0),
        blocks=2,
        options={**ALIKE.options, "workloads": [entry]},
        head={"calibrations": [half]},
    )
    assert answer(study).rate_per_s == 800.0


def test_a_percentile_is_named_only_where_runs_have_enough_requests() -> None:
    """Too few requests for P99, in another study for any percentile."""
    few = replace(FASTER, window_s=2.0, workers=(1, 2))  # 800 requests
    none = replace(FASTER, rates=(0.0,))
    (latency,) = (each for each in answer(few).shipped if each.aim == "latency")
    assert latency.measure == "P95 at 400/s"
    assert all(math.isnan(each.p99_ms.point) for each in answer(few).figures)
    for study, known in ((FASTER, "P50, P99 in ms at 400/s; "), (few, "P50 in ms"), (none, "MiB")):
        title, headings, *_ = figure_lines(answer(study), 80, 20)
        assert title.startswith(f"At the peak; {known}")
        grids = application_grids(study.results)
        (grid,) = (each for each in grids if each.title == "Every configuration")
        for name in ("P50", "P99"):
            assert (name in title) == (name in headings) == (f"{name} ms" in grid.headings)


def test_threads_of_wsgi_are_compared_with_processes_of_the_same_server() -> None:
    wsgi = replace(
        FASTER,
        configurations=(*CONFIGURATIONS, ("3.14", "threads")),
        parameters={"server": "gunicorn-gthread"},
        answers_per_s={**FASTER.answers_per_s, ("3.14", "processes"): 1_200.0},
    )
    (throughput,) = (each for each in answer(wsgi).shipped if each.aim == "throughput")
    assert (throughput.ratio.of.arm, throughput.ratio.of.model) == ("3.14t", "threads")
    assert (throughput.ratio.over.arm, throughput.ratio.over.model) == ("3.14", "processes")
    assert throughput.ratio.over.parameters["server"] == "gunicorn-gthread"
    assert throughput.ratio.verdict.word == "faster"


def test_workers_that_fit_are_counted_from_one_and_the_slope() -> None:
    each = next(each for each in answer(FASTER).at_n if each.cell.model == "threads")
    each = replace(each, extra_mib=replace(each.extra_mib, point=10.0, low=8.0, high=12.5))
    assert each.fitting((each.first_mib + 100) * 2**20) == (9, 13)
    assert each.fitting((each.first_mib - 1) * 2**20) == (0, 0)
    unknown = replace(each, extra_mib=replace(each.extra_mib, low=-1.0))
    assert unknown.fitting((each.first_mib + 100) * 2**20) is None
    assert "Workers in" not in "\n".join(lines_of(FASTER.results))  # only where it is asked for


@pytest.mark.usefixtures("undrawn")
def test_the_answer_has_24_lines_of_80_columns(tmp_path: Path) -> None:
    FASTER.write(tmp_path)
    text = printed_by(lambda console: finish(tmp_path, console, memory_bytes=2 * 2**30))
    assert len(text.splitlines()) <= 24
    for said in (
        "THE ANSWER of app-shop, N = 2",
        "build, one loop",
        "Workers in 2.00 GiB, extrapolated from N ≤ 2: ",
        "P99",
    ):
        assert said in text


@pytest.mark.parametrize(("study", "next_"), [(FASTER, "scaling gate"), (ALIKE, "scaling doctor")])
def test_where_an_aim_is_undecided_the_next_step_is_to_look_for_noise(
    study: FakeAppStudy, next_: str
) -> None:
    text = printed_by(lambda to: print_answer(study.results, Path("x"), to))
    assert text.splitlines()[-1].startswith(f"next:   {next_} ")


def test_what_the_check_found_is_corrected_first(tmp_path: Path) -> None:
    crash = Finding(kind="crashed", request="", message="Segmentation fault", remedy="look for it")
    CHECK_FILE.write(tmp_path, AppCheck(ok=False, findings=[crash]))
    results = StudyResults.of(FASTER.read(tmp_path))
    text = printed_by(lambda to: print_answer(results, tmp_path, to))
    lines = text.splitlines()
    # Before any figure.
    assert lines[1] == "Check: 1 finding (crashed): wrong on several loops, so not recommended."
    assert "correct what the check found" in " ".join(lines[-2:])
    assert len(lines) <= 24


@pytest.mark.parametrize(
    ("wrong", "shipped"),
    [
        (("threads",), {"processes", "forked"}),
        (("processes", "forked"), {"threads"}),
        (("processes",), {"threads", "forked"}),
        (("threads", "processes", "forked"), set()),
    ],
)
@pytest.mark.parametrize("study", [FASTER, SLOWER])
def test_what_was_found_wrong_is_not_recommended(
    study: FakeAppStudy, wrong: tuple[str, ...], shipped: set[str], tmp_path: Path
) -> None:
    lost = Finding(kind="error", request="GET /", message="", remedy="", models=wrong)
    every = ("threads", "processes", "forked")
    CHECK_FILE.write(tmp_path, AppCheck(ok=False, findings=[lost], models=every))
    results = StudyResults.of(study.read(tmp_path))
    found = results.application
    assert found
    cells = [each.cell for each in found.shipped]
    assert {each.model for each in cells if each} <= shipped
    assert all(cells) is bool(shipped)
    if wrong == ("processes",):
        assert {each.ratio.over.model for each in found.shipped} == {"forked"}
    assert "not recommended" in " ".join(lines_of(results))


def test_what_is_only_slow_may_be_recommended() -> None:
    slow = Finding(kind="gil-enabled", request="", message="", remedy="")
    assert AppCheck(ok=False, findings=[slow]).wrong_models == []


@pytest.mark.usefixtures("unrendered")
def test_the_page_has_the_answer_in_full_and_states_each_ratio_in_one_table() -> None:
    text = page(FASTER.results)
    begins = text.index("What to ship with N = 2:</strong> 3.14t threads for throughput")
    assert begins < text.index("Your application</h2>")
    for said in (
        "P99 at 400/s",
        "the build, one loop",
        "sharing one process, N = 2",
        "MiB per extra worker",
        "All have loop asyncio and server loops. Latencies are at 400/s",
    ):
        assert said in text
    tables = Outline(text).all("table")
    for each in answer(FASTER).shipped:
        ratio = re.compile(f"{times(each.ratio)} ?{each.ratio.bounds}")
        named = [table.all("caption")[0].words for table in tables if ratio.search(table.words)]
        # The two factors multiply to the ratio of throughput, which stands beside them.
        factors = ["Why threads and processes differ"] if each.aim == "throughput" else []
        assert named == ["What to ship, N = 2", *factors]


def test_figures_of_threads_and_of_the_best_processes_stand_side_by_side() -> None:
    lines, found = lines_of(FASTER.results), answer(FASTER)
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


def test_memory_of_forked_workers_is_bounded_by_what_they_may_copy() -> None:
    """Before and after the load, and of four times as many: as measured, and as fresh processes."""
    found = answer(FASTER)
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
        lines_of(FASTER.results)
    )
    document = json.loads(application_json(FASTER.results))["forked_memory"]
    assert document["before_load_mib"] == forked.idle_mib.point
    assert (document["least_mib"], document["most_mib"]) == (copied.least_mib, copied.most_mib)
    others = [each for each in found.figures if each.cell.model != "processes"]
    assert replace(found, figures=others).copied_on_write is None


def test_nothing_warns_of_controls_that_app_does_not_run() -> None:
    soundness = FASTER.results.soundness
    assert (soundness.status, soundness.text, soundness.warning) == ("left out", "", "")
    other = replace(ALIKE, blocks=2, options={"controls": False})
    assert other.results.soundness.text.startswith("Controls left out")


def test_reasons_are_in_plain_words() -> None:
    frame = ALIKE.frame.copy()
    odd = frame.index[:2]
    frame["valid"] = ~frame.index.isin(odd)
    frame["validity"] = np.where(frame["valid"], "valid", "invalid")
    frame["reasons"] = [("mixed-allocator-state",) if at in odd else () for at in frame.index]
    frame["details"] = [("far",) if at in odd else () for at in frame.index]
    text = " ".join(lines_of(StudyResults(frame, ALIKE.first_line)))
    assert "Left out, invalid: 2 of " in text
    assert "malloc in another state than in most runs" in text
    assert "mixed-allocator-state" not in text


def test_json_has_every_configuration_with_bounds() -> None:
    document = json.loads(application_json(FASTER.results))
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


@pytest.mark.parametrize(
    ("interface", "arm", "model", "expected"),
    [
        ("asgi", "3.14t", "threads", "python3.14t serve.py --workers 2"),
        (
            *("asgi", "3.14t+gil", "threads"),
            "PYTHON_GIL=1 python3.14t serve.py --workers 2",
        ),
        (
            *("asgi", "3.14", "processes"),
            "python3.14 -m uvicorn shop:make --factory --workers 2 --http httptools",
        ),
        (
            *("asgi", "3.14+mimalloc", "forked"),
            (
                "PYTHONMALLOC=mimalloc python3.14 -m gunicorn 'shop:make()' --preload "
                f"{WORKER} uvicorn_worker.UvicornWorker --workers 2"
            ),
        ),
        ("aiohttp", "3.14t", "threads", "python3.14t serve.py --workers 2"),
        (
            *("aiohttp", "3.14", "processes"),
            f"python3.14 -m gunicorn 'shop:make()' {WORKER} aiohttp.GunicornWebWorker --workers 2",
        ),
        (
            *("wsgi", "3.14t", "threads"),
            f"python3.14t -m gunicorn 'shop:make()' {WORKER} gthread --threads 2",
        ),
        (
            *("wsgi", "3.14", "processes"),
            f"python3.14 -m gunicorn 'shop:make()' {WORKER} gthread --workers 2",
        ),
        (
            *("wsgi", "3.14", "forked"),
            f"python3.14 -m gunicorn 'shop:make()' --preload {WORKER} gthread --workers 2",
        ),
    ],
)
def test_what_may_be_shipped_has_the_command_that_serves_it(
    interface: str, arm: str, model: str, expected: str
) -> None:
    of = Cell(workload="app", loop="asyncio", arm=arm, model=model, workers=2)
    asked = {"application": "shop:make", "factory": True}
    assert deploy.command(of, interface, asked) == expected


def test_no_command_is_guessed_for_another_server(tmp_path: Path) -> None:
    assert deploy_commands(StudyResults.of(replace(ALIKE, blocks=2).read(tmp_path))) == {}


@pytest.mark.usefixtures("unrendered")
def test_what_won_is_deployed_by_page_and_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = {"server": "uvicorn 0.54.0"}
    asked = {"application": "shop:app", "server": "loops"}

    def lines(path: Path, runs: pd.DataFrame) -> Iterator[RunLine]:
        for line in counting_lines(path, runs):
            yield with_(line, record__facts=facts, cell__parameters=asked)

    monkeypatch.setattr(deploy, "counting_lines", lines)
    results = StudyResults.of(FASTER.read(tmp_path))
    shown = json.loads(application_json(results))["deploy"]
    assert "python3.14t serve.py --workers 2" in [each["command"] for each in shown]
    assert "How to deploy it" in page(results)

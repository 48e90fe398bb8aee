"""`scaling app` says what to ship for each aim, how to deploy it, and why threads and processes
differ.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scaling.analysis.table.groups import counting_lines
from scaling.analysis.tables.pairs import BUILD, SHARING
from scaling.analysis.tables.study import Study
from scaling.journal.beside import AppCheck, Finding, write_check
from scaling.journal.record import Calibration, Cell, RunLine
from scaling.report.output import answered
from scaling.report.page import page
from scaling.report.view import deploy
from scaling.report.view.application import POOLS, copied_on_write, fitting, reasons, trade
from scaling.report.view.deploy import deploy_commands
from scaling.report.view.shipped import NOT_DECIDED, shipped
from scaling.report.view.view import view_of
from scaling.study.questions import CPU, MEMORY, OVER_PROCESSES, P99, THROUGHPUT
from tests.support.printing import printed_by
from tests.support.runs import with_
from tests.support.served_studies import CONFIGURATIONS, FakeAppStudy
from tests.support.studies import in_memory

FASTER = FakeAppStudy(answers_per_s={("3.14t", "threads"): 1_600.0})
"""Threads answer 1.6 times as many requests as processes."""
SLOWER = FakeAppStudy(answers_per_s={("3.14t", "threads"): 600.0})
ALIKE = FakeAppStudy()
WORKER = "--worker-class"
EVERY = ("threads", "processes", "forked")


def by_aim(study: Study) -> pd.DataFrame:
    """What is shipped, a row for each aim, by its measure."""
    return shipped(study).set_index("measure")


def test_threads_are_shipped_where_they_are_faster() -> None:
    found = by_aim(FASTER.study)
    assert found["ship"].to_dict() == dict.fromkeys((THROUGHPUT, MEMORY, P99), "3.14t threads")
    assert found.at[THROUGHPUT, "word"] == "faster"
    assert found.at[THROUGHPUT, "ratio"] == pytest.approx(1.6, rel=0.03)
    assert found.at[P99, "aim"] == "P99 at 400/s (13 % of the peak), ms"


def test_of_what_is_the_same_processes_are_shipped() -> None:
    found = by_aim(replace(ALIKE, speed_noise=0.001, blocks=8).study)
    assert found.at[THROUGHPUT, "word"] == "same"
    assert str(found.at[THROUGHPUT, "ship"]).endswith((" processes", " forked"))


def test_nothing_is_shipped_on_too_few_blocks() -> None:
    found = by_aim(replace(FASTER, blocks=2).study)
    assert set(found["word"]) == {""}
    assert set(found["ship"]) == {NOT_DECIDED}


def test_the_trade_is_one_sentence_of_bound_and_memory() -> None:
    found = by_aim(SLOWER.study)
    less = 100 * (1 - found["ratio"][MEMORY])
    bound = found["at_most_percent"][THROUGHPUT]
    assert trade(SLOWER.study) == (
        f"Threads: at most {bound:.0f} % fewer requests for {less:.0f} % less memory."
    )
    assert trade(FASTER.study) == f"Threads: no fewer requests for {less:.0f} % less memory."
    assert trade(replace(SLOWER, blocks=2).study) == ""


def test_the_two_factors_multiply_to_the_ratio() -> None:
    found = reasons(FASTER.study)
    assert set(found["measure"]) == {THROUGHPUT, CPU}
    for _, part in found.groupby("measure"):
        ratio = part.set_index("question")["ratio"]
        assert ratio[BUILD] * ratio[SHARING] == pytest.approx(ratio[OVER_PROCESSES], rel=0.03)
    build = found[(found["question"] == BUILD) & (found["measure"] == THROUGHPUT)]
    assert build["ratio"].item() == pytest.approx(1.6, rel=0.03)


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
    assert by_aim(study.study).at[P99, "rate"] == 800.0


def test_threads_of_wsgi_are_compared_with_processes_of_the_same_server() -> None:
    wsgi = replace(
        FASTER,
        configurations=(*CONFIGURATIONS, ("3.14", "threads")),
        parameters={"server": "gunicorn-gthread"},
        answers_per_s={**FASTER.answers_per_s, ("3.14", "processes"): 1_200.0},
    )
    found = shipped(wsgi.study).query("measure == @THROUGHPUT and arm == '3.14t'").iloc[0]
    assert (found["over_arm"], found["over_model"]) == ("3.14", "processes")
    assert found["word"] == "faster"


def with_pools(**answers_per_s: float) -> Study:
    """Of threads without the GIL, by the size of each loop's pool; processes answer 1,000/s."""
    studies = [
        FakeAppStudy(
            parameters={"server": "loops", "pool": int(size[1:])},
            answers_per_s={("3.14t", "threads"): speed},
        )
        for size, speed in answers_per_s.items()
    ]
    head, *_ = studies[0].lines
    return Study.of(in_memory([head, *(run for each in studies for run in each.runs)]))


def test_pools_are_compared_with_the_smallest() -> None:
    rows = POOLS.selected(with_pools(_1=800.0, _4=1_600.0, _40=1_300.0))
    at_peak = rows[(rows["measure"] == THROUGHPUT) & (rows["workers"] == 2)]
    sizes = [cell.parameters["pool"] for cell in at_peak["cell"]]
    assert dict(zip(sizes, at_peak["word"], strict=True)) == {4: "faster", 40: "faster"}


def test_workers_that_fit_are_counted_from_one_and_the_slope() -> None:
    few, many = (fitting(FASTER.study, gib * 2.0**30) for gib in (0.001, 2))
    assert few.startswith("Workers in 0.001")
    assert "3.14t threads 0" in few
    assert many.startswith("Workers in 2.00 GiB, extrapolated from N ≤ 2: ")
    assert "3.14t threads " in many


def test_memory_of_forked_workers_is_bounded_by_what_they_may_copy() -> None:
    """Before and after the load, and of four times as many: as measured, and as fresh processes."""
    said = copied_on_write(FASTER.study)
    assert said.startswith("3.14 forked: ")
    assert " MiB before the load, " in said
    assert "; N = 8: " in said
    without_fresh = replace(FASTER, configurations=(("3.14t", "threads"), ("3.14", "forked")))
    assert copied_on_write(without_fresh.study) == ""


# ----------------------------------------------------------------------------- what the check found


def found_wrong(study: FakeAppStudy, folder: Path, models: tuple[str, ...]) -> Study:
    """The study, with a check that found wrong answers in workers of these models."""
    lost = Finding(kind="error", request="GET /", message="", remedy="", models=models)
    checked = tuple(dict.fromkeys((*EVERY, *models)))
    write_check(folder, AppCheck(ok=False, findings=[lost], models=checked))
    return Study.of(study.read(folder))


@pytest.mark.parametrize(
    ("wrong", "allowed"),
    [
        (("threads",), {"processes", "forked"}),
        (("processes", "forked"), {"threads"}),
        (("processes",), {"threads", "forked"}),
        (EVERY, set()),
    ],
)
@pytest.mark.parametrize("study", [FASTER, SLOWER])
def test_what_was_found_wrong_is_not_recommended(
    study: FakeAppStudy, wrong: tuple[str, ...], allowed: set[str], tmp_path: Path
) -> None:
    found = shipped(found_wrong(study, tmp_path, wrong))
    models = {each.rpartition(" ")[2] for each in found["ship"] if each != NOT_DECIDED}
    assert models <= allowed
    assert (NOT_DECIDED in set(found["ship"])) == (not allowed)
    if wrong == ("processes",):
        assert set(found["over_model"]) == {"forked"}


def test_what_the_check_found_is_corrected_first(tmp_path: Path) -> None:
    study = found_wrong(FASTER, tmp_path, ("threads",))
    text = printed_by(lambda to: answered(study, tmp_path, to))
    assert "not recommended" in text
    assert "correct what the check found" in " ".join(text.splitlines()[-2:])
    assert len(text.splitlines()) <= 24


def test_what_is_only_slow_may_be_recommended() -> None:
    slow = Finding(kind="gil-enabled", request="", message="", remedy="")
    assert AppCheck(ok=False, findings=[slow]).wrong_models == []


# ------------------------------------------------------------------------------------------- mixed


def with_mixed(threads: float, mixed: float, blocks: int = 8) -> Study:
    return mixed_study(threads, mixed, blocks).study


def mixed_study(threads: float, mixed: float, blocks: int = 8) -> FakeAppStudy:
    """Four workers as threads, as 2 x 2 and as processes, which answer 1,000/s each; also two."""
    speeds = {("3.14t", "threads"): threads, ("3.14t", "mixed:2"): mixed}
    every = FakeAppStudy(
        configurations=(*CONFIGURATIONS, ("3.14t", "mixed:2")),
        answers_per_s=speeds,
        workers=(1, 2, 4),
        speed_noise=0.001,
        blocks=blocks,
    )
    cells = [each for each in every.every_cell if each.model != "mixed:2" or each.workers == 4]
    return replace(every, cells=cells)


@pytest.mark.parametrize(
    ("threads", "mixed", "ship"),
    [
        (600.0, 1_600.0, "3.14t mixed:2"),
        (1_600.0, 1_200.0, "3.14t threads"),
        (1_600.0, 1_600.0, "3.14t threads"),  # the same: what is simpler
        (600.0, 800.0, "processes"),
    ],
)
def test_the_best_of_threads_mixed_and_processes_is_shipped(
    threads: float, mixed: float, ship: str
) -> None:
    found = shipped(with_mixed(threads, mixed)).query("measure == @THROUGHPUT")
    assert set(found["workers"]) == {4}
    assert found["mixed"].tolist() == ["", "mixed:2"]
    (said,) = set(found["ship"])
    assert said.endswith((" processes", " forked") if ship == "processes" else ship)
    assert found["ratio"].tolist() == pytest.approx([threads / 1e3, mixed / 1e3], rel=0.02)


@pytest.mark.parametrize("wrong", ["threads", "processes", "mixed:2"])
def test_mixed_is_wrong_where_threads_or_processes_are(wrong: str, tmp_path: Path) -> None:
    found = found_wrong(mixed_study(600.0, 1_600.0), tmp_path, (wrong,))
    assert "3.14t mixed:2" not in set(shipped(found)["ship"])
    assert found.cells.query("model == 'mixed:2'")["wrong"].all()


def test_mixed_and_threads_are_left_where_neither_beats_the_other() -> None:
    few = shipped(with_mixed(1_600.0, 1_600.0, blocks=2)).query("measure == @THROUGHPUT")
    assert set(few["ship"]) == {NOT_DECIDED}
    assert {len(each) for each in few["places"]} == {3}


@pytest.mark.parametrize(
    ("model", "interface", "said"),
    [
        ("mixed:2", "asgi", "for n in 1 2; do python3.14t serve.py --workers 2 & done; wait"),
        ("threads", "asgi", "python3.14t serve.py --workers 4"),
        ("mixed-forked:2", "wsgi", "gthread --workers 2 --threads 2"),
        ("threads", "wsgi", "gthread --threads 4"),
        ("forked", "wsgi", "--preload --worker-class gthread --workers 4"),
    ],
)
def test_commands_have_processes_and_threads(model: str, interface: str, said: str) -> None:
    cell = Cell(workload="app", loop="uvloop", arm="3.14t", model=model, workers=4)
    assert said in deploy.command(cell, interface, {"application": "shop:app"})


# ----------------------------------------------------------------------------------- what is shown


def test_the_answer_for_programs_has_the_tokens() -> None:
    record = view_of(FASTER.study).record(FASTER.study)
    assert record["schema"] == 2
    (rows,) = (table for title, table in record["tables"].items() if "What to ship" in title)
    throughput = next(row for row in rows if row["aim"] == "requests/s at peak")
    assert throughput["ratio"]["word"] == "faster"
    assert throughput["ratio"]["at_most_percent"] < 0
    assert throughput["ratio"]["low"] <= throughput["ratio"]["ratio"]


def test_nothing_warns_of_controls_that_app_does_not_run() -> None:
    soundness = FASTER.study.soundness
    assert (soundness.status, soundness.text) == ("left out", "")
    other = replace(ALIKE, blocks=2, options={"controls": False})
    assert other.study.soundness.text.startswith("Controls left out")


def test_reasons_are_in_plain_words() -> None:
    frame = ALIKE.frame.copy()
    odd = frame.index[:2]
    frame["valid"] = ~frame.index.isin(odd)
    frame["validity"] = np.where(frame["valid"], "valid", "invalid")
    frame["reasons"] = [("mixed-allocator-state",) if at in odd else () for at in frame.index]
    frame["details"] = [("far",) if at in odd else () for at in frame.index]
    study = Study(ALIKE.first_line, frame)
    text = " ".join(view_of(study).said(study))
    assert "malloc in another state than in most runs" in text
    assert "mixed-allocator-state" not in text


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
    assert deploy_commands(Study.of(replace(ALIKE, blocks=2).read(tmp_path))) == {}


@pytest.mark.usefixtures("unrendered")
def test_what_won_is_deployed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {"server": "uvicorn 0.54.0"}
    asked = {"application": "shop:app", "server": "loops"}

    def lines(path: Path, runs: pd.DataFrame) -> Iterator[RunLine]:
        for line in counting_lines(path, runs):
            yield with_(line, record__facts=facts, cell__parameters=asked)

    monkeypatch.setattr(deploy, "counting_lines", lines)
    study = Study.of(FASTER.read(tmp_path))
    assert "python3.14t serve.py --workers 2" in deploy_commands(study).values()
    assert "How to deploy it" in page(study)

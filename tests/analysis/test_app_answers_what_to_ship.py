"""`scaling app` says what to ship for each aim, how to deploy it, and why threads and processes
differ.
"""

import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import cast

import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from scaling.analysis.tables.study import Study
from scaling.base.errors import UsageError
from scaling.journal.check_file import AppCheck, Finding, write_check
from scaling.journal.file import FILE_NAME
from scaling.journal.record import Calibration, Cell, ParameterValue
from scaling.report.output import answered
from scaling.report.view import application, deploy
from scaling.report.view.application import NOT_DECIDED, POOLS, fitting, shipped, trade
from scaling.report.view.deploy import write_program
from scaling.study.questions import MEMORY, P99, THROUGHPUT
from tests.support.cli import Command
from tests.support.printing import printed_by
from tests.support.served_studies import CONFIGURATIONS, FakeAppStudy
from tests.support.studies import in_memory

FASTER = FakeAppStudy(answers_per_s={("3.14t", "threads"): 1_600.0})
"""Threads answer 1.6 times as many requests as processes."""
ALIKE = FakeAppStudy()
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
    assert "3.14t threads 0" in fitting(FASTER.study, 2.0**20)


def test_of_what_is_the_same_processes_are_shipped() -> None:
    found = by_aim(replace(ALIKE, speed_noise=0.001, blocks=8).study)
    assert found.at[THROUGHPUT, "word"] == "same"
    assert str(found.at[THROUGHPUT, "ship"]).endswith((" processes", " forked"))


def test_nothing_is_shipped_on_too_few_blocks() -> None:
    found = by_aim(replace(FASTER, blocks=2).study)
    assert set(found["word"]) == {""}
    assert set(found["ship"]) == {NOT_DECIDED}


def test_latencies_are_at_the_stated_rate_and_not_at_one_of_the_grid() -> None:
    entry = {"name": "app", "parameters": {"rate_per_s": [0.0, "half", "grid"]}}
    half = Calibration(
        workload="app",
        baseline=Cell(workload="app", loop="asyncio", arm="3.14", model="forked", workers=2),
        peak_per_s=1_600.0,
        rates={"half": 800.0, "grid 1 of 2": 200.0, "grid 2 of 2": 400.0},
    )
    study = replace(
        FASTER,
        rates=(0.0, 200.0, 400.0, 800.0),
        blocks=2,
        options={**FASTER.options, "workloads": [entry]},
        head={"calibrations": [half]},
    )
    assert by_aim(study.study).at[P99, "rate"] == 800.0


def test_threads_of_wsgi_are_compared_with_processes_of_the_same_server() -> None:
    wsgi = replace(
        FASTER,
        configurations=(*CONFIGURATIONS, ("3.14", "threads")),
        parameters={"server": "gunicorn-gthread"},
        answers_per_s={**FASTER.answers_per_s, ("3.14", "processes"): 1_200.0},
        rates=(0.0,),
    )
    found = shipped(wsgi.study).query("measure == @THROUGHPUT and arm == '3.14t'").iloc[0]
    assert (found["over_arm"], found["over_model"]) == ("3.14", "processes")
    assert found["word"] == "faster"


def test_pools_are_compared_with_the_smallest() -> None:
    """Of threads without the GIL, by the size of each loop's pool."""
    head, runs = ALIKE.first_line, []
    for size, speed in ((1, 800.0), (4, 1_600.0), (40, 1_300.0)):
        parameters: dict[str, ParameterValue] = {"server": "loops", "pool": size}
        speeds = {("3.14t", "threads"): speed}
        made = FakeAppStudy(parameters=parameters, answers_per_s=speeds, rates=(0.0,))
        runs += made.runs
    rows = POOLS.selected(Study.of(in_memory([head, *runs])))
    at_peak = rows[(rows["measure"] == THROUGHPUT) & (rows["workers"] == 2)]
    sizes = [cell.parameters["pool"] for cell in at_peak["cell"]]
    assert dict(zip(sizes, at_peak["word"], strict=True)) == {4: "faster", 40: "faster"}


def test_what_is_lost_at_most_is_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"model": "threads", "measure": THROUGHPUT, "at_most_percent": 3.1, "ratio": 1.0},
        {"model": "threads", "measure": MEMORY, "at_most_percent": math.nan, "ratio": 0.6},
    ]
    monkeypatch.setattr(application, "shipped", lambda _: pd.DataFrame(rows))
    said = trade(cast(Study, None))
    assert said == "Threads: at most 4 % fewer requests for 40 % less memory."


# ----------------------------------------------------------------------------- what the check found


def found_wrong(study: FakeAppStudy, folder: Path, models: tuple[str, ...]) -> Study:
    """The study, with a check that found wrong answers in workers of these models."""
    lost = Finding(kind="error", request="GET /", message="", remedy="", models=models)
    checked = tuple(dict.fromkeys((*EVERY, *models)))
    write_check(folder, AppCheck(ok=False, findings=[lost], models=checked))
    return Study.of(replace(study.journal, path=folder / FILE_NAME))


@pytest.mark.parametrize(
    ("wrong", "allowed"),
    [
        (("threads",), {"processes", "forked"}),
        (("processes", "forked"), {"threads"}),
        (("processes",), {"threads", "forked"}),
        (EVERY, set()),
    ],
)
def test_what_was_found_wrong_is_not_recommended(
    wrong: tuple[str, ...], allowed: set[str], tmp_path: Path
) -> None:
    found = shipped(found_wrong(replace(FASTER, rates=(0.0,)), tmp_path, wrong))
    models = {each.rpartition(" ")[2] for each in found["ship"] if each != NOT_DECIDED}
    assert models <= allowed
    assert (NOT_DECIDED in set(found["ship"])) == (not allowed)
    if wrong == ("processes",):
        assert set(found["over_model"]) == {"forked"}


def test_what_the_check_found_is_corrected_first(tmp_path: Path) -> None:
    FASTER.write(tmp_path)
    study = found_wrong(FASTER, tmp_path, ("threads",))
    text = printed_by(lambda to: answered(study, tmp_path, to))
    assert "not recommended" in text
    assert "correct the findings of the check" in " ".join(text.splitlines()[-2:])
    assert len(text.splitlines()) <= 24


# ------------------------------------------------------------------------------------------- mixed


@cache
def with_mixed(threads: float, mixed: float) -> FakeAppStudy:
    """Four workers as threads, as 2 x 2 and as processes, which answer 1,000/s each; also two."""
    speeds = {("3.14t", "threads"): threads, ("3.14t", "mixed:2"): mixed}
    every = FakeAppStudy(
        configurations=(*CONFIGURATIONS, ("3.14t", "mixed:2")),
        answers_per_s=speeds,
        workers=(1, 2, 4),
        speed_noise=0.001,
        rates=(0.0,),
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
    found = shipped(with_mixed(threads, mixed).study).query("measure == @THROUGHPUT")
    assert set(found["workers"]) == {4}
    assert found["mixed"].tolist() == ["", "mixed:2"]
    (said,) = set(found["ship"])
    assert said.endswith((" processes", " forked") if ship == "processes" else ship)
    assert found["ratio"].tolist() == pytest.approx([threads / 1e3, mixed / 1e3], rel=0.02)


@pytest.mark.parametrize("wrong", ["threads", "processes"])
def test_mixed_is_wrong_where_threads_or_processes_are(wrong: str, tmp_path: Path) -> None:
    found = found_wrong(with_mixed(600.0, 1_600.0), tmp_path, (wrong,))
    assert "3.14t mixed:2" not in set(shipped(found)["ship"])
    assert found.cells.query("model == 'mixed:2'")["wrong"].all()


# ----------------------------------------------------------------------------------- what is shown


def test_what_may_be_shipped_has_the_command_that_serves_it(snapshot: SnapshotAssertion) -> None:
    asked = {"application": "shop:make", "factory": True}
    commands = {}
    for each in (
        "asgi 3.14t threads",
        "asgi 3.14t+gil threads",
        "asgi 3.14t mixed:2",
        "asgi 3.14 processes",
        "asgi 3.14+mimalloc forked",
        "aiohttp 3.14 processes",
        "wsgi 3.14t threads",
        "wsgi 3.14t mixed-forked:2",
    ):
        interface, arm, model = each.split()
        of = Cell(workload="app", loop="asyncio", arm=arm, model=model, workers=4)
        commands[each] = deploy.command(of, interface, asked)
    assert commands == snapshot


def test_a_program_is_written_to_a_new_file_or_nothing_is(tmp_path: Path, command: Command) -> None:
    """That it runs is tested in `tests/workers/test_serve_py_runs_n_loops_in_threads.py`."""
    file = tmp_path / "serve.py"
    file.write_text("mine")
    done = command("app", "shop:app", "--write", str(file))
    assert (done.returncode, file.read_text()) == (2, "mine")
    assert "the file exists" in done.stderr
    with pytest.raises(UsageError, match="gunicorn --worker-class gthread"):
        write_program(tmp_path / "new.py", "wsgi", "shop:app", factory=False)
    assert not (tmp_path / "new.py").exists()

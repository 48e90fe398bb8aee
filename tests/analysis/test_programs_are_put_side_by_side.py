"""Programs side by side: what each does, and what it loses by sharing a process."""

from pathlib import Path
from typing import Any

import pytest

from scaling.analysis.between_studies import Program, programs
from scaling.base.console import new_console
from scaling.report.compare import compare
from scaling.report.tables.between_studies import programs_chapter
from scaling.report.tables.grid import chapters_markdown
from tests.support.served_studies import FakeAppStudy
from tests.support.studies import FakeStudy
from tests.support.terms import plus

pytestmark = pytest.mark.one_build


def app(name: str, **more: Any) -> FakeAppStudy:
    """What `scaling app` measures of a program: threads that lose CPU time, and processes."""
    parameters = {"server": "loops", "application": f"{name}:app"}

    def terms(_: str, model: str, n: int) -> dict[str, float]:
        return dict(plus(user=9_000.0 * (n - 1) * (model == "threads"), idle=100.0 * n))

    return FakeAppStudy(**{"name": f"app-{name}", "parameters": parameters, "terms": terms, **more})


def found(*studies: FakeStudy) -> list[Program]:
    return programs({each.name: each.results for each in studies})


def test_each_has_its_threads_and_processes_its_factors_and_its_largest_term() -> None:
    (shop,) = found(app("shop"))
    assert [each.cell.model for each in shop.figures] == ["threads", "processes", "forked"]
    assert {each.cell.workers for each in shop.figures} == {2}
    assert shop.over is not None
    assert shop.over.ratio.of == shop.threads.cell
    assert shop.throughput is not None
    whole, build, sharing = shop.throughput.whole, shop.throughput.build, shop.throughput.sharing
    assert whole.blocks == pytest.approx(build.blocks * sharing.blocks)
    assert sharing.point < 0.95
    assert shop.lost is not None
    assert shop.lost.largest is not None
    assert shop.lost.largest.term.name == "user"
    assert shop.lost.of == shop.threads.cell


def test_a_program_without_loops_says_that_it_has_no_terms() -> None:
    wsgi = app(
        "ledger",
        terms=None,
        parameters={"server": "gunicorn-gthread"},
        configurations=(("3.14t", "threads"), ("3.14", "processes")),
    )
    (ledger, shop) = found(wsgi, app("shop"))
    assert ledger.lost is None
    assert ledger.throughput is not None
    assert [each.cell.model for each in ledger.figures] == ["threads", "processes"]
    text = chapters_markdown([programs_chapter([ledger, shop])])
    assert "have no terms: app-ledger." in text
    assert "| user CPU, " in text


def test_a_program_without_a_valid_run_of_threads_is_left_out() -> None:
    only = app("shop", configurations=(("3.14", "processes"), ("3.14", "forked")))
    assert found(only, app("inn"))[0].name == "app-inn"


def test_compare_puts_studies_of_several_applications_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for each in (app("shop"), app("inn")):
        each.write(tmp_path / each.name)
    every = [tmp_path / name for name in ("app-shop", "app-inn")]
    compare(every, tmp_path / "out", new_console())
    assert "Programs side by side" in capsys.readouterr().out
    assert "| app-inn | 2 threads on 3.14t |" in (tmp_path / "out" / "comparison.md").read_text()
    compare(every[:1], None, new_console())
    assert "Programs" not in capsys.readouterr().out

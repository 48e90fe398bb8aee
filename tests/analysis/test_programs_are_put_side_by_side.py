"""Programs side by side: what to ship of each, threads or processes."""

from pathlib import Path
from typing import Any

import pytest

from scaling.base.console import new_console
from scaling.report.compare import compare, programs
from tests.support.served_studies import FakeAppStudy

pytestmark = pytest.mark.one_build


def app(name: str, speed: float = 1.0, **more: Any) -> FakeAppStudy:
    """What `scaling app` measures of a program whose threads are so much faster."""
    parameters = {"server": "loops", "application": f"{name}:app"}
    speeds = {("3.14t", "threads"): 1_000.0 * speed}
    usual = {"name": f"app-{name}", "parameters": parameters, "answers_per_s": speeds}
    return FakeAppStudy(**{**usual, **more})


def test_each_has_a_row_for_each_aim_and_one_without_threads_none() -> None:
    without = app("other", configurations=(("3.14", "processes"), ("3.14", "forked")))
    studies = {"shop": app("shop", 1.5), "inn": app("inn", 0.7), "other": without}
    found = programs({name: each.study for name, each in studies.items()})
    at_peak = found[found["measure"] == "throughput_per_s"].set_index("program")
    assert at_peak["word"].to_dict() == {"shop": "faster", "inn": "slower"}
    assert at_peak.loc["shop", "ship"] == "3.14t threads"
    assert str(at_peak.loc["inn", "ship"]).endswith((" processes", " forked"))
    assert found.groupby("program")["aim"].nunique().to_dict() == {"shop": 3, "inn": 3}


def test_compare_puts_studies_of_several_applications_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for each in (app("shop"), app("inn")):
        each.write(tmp_path / each.name)
    every = [tmp_path / name for name in ("app-shop", "app-inn")]
    compare(every, tmp_path / "out", new_console())
    assert "Programs side by side" in capsys.readouterr().out
    assert "| app-inn |" in (tmp_path / "out" / "comparison.md").read_text()
    compare(every[:1], None, new_console())
    assert "Programs" not in capsys.readouterr().out

"""`--to bencher` and `--to github-action-benchmark` are what the documentation of both asks for."""

import json
from pathlib import Path
from typing import Any

import pytest

from scaling.analysis.table.load import Journal, read_journal
from scaling.base.console import new_console
from scaling.base.errors import ScalingError
from scaling.report.export.formats import export
from scaling.report.export.trends import bencher, github_action_benchmark, trends
from tests.support.fabricate import Made, journal, with_, write
from tests.support.served import Served, studied

CELL = "echo weak asyncio 3.14t threads N=2"
NAME_MOST, MEASURE_MOST = 1024, 64  # characters that Bencher takes


@pytest.fixture
def study(tmp_path: Path) -> Journal:
    made = Made(workers=(1, 2), blocks=8, arms=("3.14", "3.14t"))
    return read_journal(write(journal(made), tmp_path / "journal.jsonl"))


def items(study: Journal, better: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(github_action_benchmark(study, better))
    return found


def test_bencher_gets_a_value_with_bounds_of_each_measure(study: Journal) -> None:
    found = json.loads(bencher(study))
    assert len(found) == 4
    assert set(found[CELL]) == {"throughput", "speedup", "cpu-time-per-operation", "memory"}
    for name, measures in found.items():
        assert len(name) <= NAME_MOST
        for measure, metric in measures.items():
            assert len(measure) <= MEASURE_MOST
            assert set(metric) == {"value", "lower_value", "upper_value"}
            assert metric["lower_value"] <= metric["value"] <= metric["upper_value"]


def test_each_figure_is_in_the_list_of_its_direction(study: Journal) -> None:
    more, less = items(study, "more"), items(study, "less")
    assert len(more) + len(less) == len(trends(study))
    (throughput,) = [each for each in more if each["name"] == f"{CELL}: throughput"]
    assert throughput["unit"] == "operations/s"
    assert throughput["value"] == json.loads(bencher(study))[CELL]["throughput"]["value"]
    assert "–" in throughput["range"]
    assert throughput["extra"] == "95 % interval over 8 blocks"
    assert {each["name"].rpartition(": ")[2] for each in less} == {
        *("cpu-time-per-operation", "memory")
    }


def test_the_throughput_of_an_open_loop_is_no_figure(tmp_path: Path) -> None:
    found = {each.name for each in trends(studied(tmp_path, Served(workers=(1,), rates=(400.0,))))}
    assert "latency-p99" in found
    assert not found & {"throughput", "speedup"}


def test_invalid_runs_are_in_no_figure(tmp_path: Path) -> None:
    def failed(run: Any) -> Any:
        return with_(run, outcome="crashed", record=None)

    made = Made(workers=(1, 2), blocks=2)
    whole = read_journal(write(journal(made, failed), tmp_path / "journal.jsonl"))
    with pytest.raises(ScalingError, match="no valid run"):
        bencher(whole)


def test_it_goes_to_standard_output_unless_a_file_is_named(
    study: Journal, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert export(study.path, "bencher", None, new_console()) is None
    printed = capsys.readouterr().out
    assert json.loads(printed) == json.loads(bencher(study))
    file = tmp_path / "figures.json"
    assert export(study.path, "bencher", file, new_console()) == file
    assert json.loads(file.read_text(encoding="utf-8")) == json.loads(printed)

"""`--scale` multiplies what a workload calls its amounts, and nothing hides that it was done."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from scaling.base.errors import UsageError
from scaling.report.csv import summary
from scaling.report.output import print_answer
from scaling.report.view.plots import caption
from scaling.study.plan.cells import Plan
from scaling.study.settle import scaled_to
from tests.support import plans
from tests.support.descriptions import NAP
from tests.support.documents import page, tables_markdown
from tests.support.printing import printed_by
from tests.support.studies import FakeStudy

STUDY = """
workers = [1, 2]
[[workloads]]
name = "naps:Nap"
parameters = { naps = [100_000, 1_000_000] }
[[workloads]]
name = "echo"
"""


def planned(text: str = STUDY, **options: Any) -> Plan:
    return plans.planned(text, workloads={"naps:Nap": NAP}, **options)


def parameters(plan: Plan, workload: str) -> Mapping[str, list[object]]:
    (entry,) = (each for each in plan.study.workloads if each.name == workload)
    return entry.parameters


def test_the_settled_study_holds_what_is_really_run() -> None:
    plan = planned(scale=" 1 % ")
    assert parameters(plan, "naps:Nap") == {
        "naps": [1_000, 10_000],
        "in_flight": [100],
        "pause_us": [1_000],
        "eager": [True],
    }
    assert parameters(plan, "echo") == parameters(planned(), "echo")  # which names no amounts
    assert plan.study.document["scale"] == 0.01
    document = plan.document(plan.cells[0], ticks=20)
    assert document["parameters"] == plan.cells[0].parameters
    assert document["in_flight"] == 100
    of_file = planned(f"scale = '10%'\n{STUDY}", set=("naps:Nap.naps=5000",))
    assert parameters(of_file, "naps:Nap")["naps"] == [500]
    assert parameters(planned(scale="0.000001"), "naps:Nap")["naps"] == [1]  # once


@pytest.mark.parametrize("said", ["0", "lots", "nan", "inf", "%"])
def test_an_invalid_scale_is_an_error(said: str) -> None:
    with pytest.raises(UsageError, match=r"--scale: expected a factor above 0, .*got"):
        planned(scale=said)
    with pytest.raises(UsageError, match=r"mine.toml: scale: expected a factor above 0"):
        planned(f"scale = '{said}'\n{STUDY}")


def test_terminal_page_markdown_plots_and_csv_show_it_in_per_cent() -> None:
    for scale, words in ((1.0, ""), (0.01, "scaled to 1 %"), (0.125, "scaled to 12.5 %"),
                         (3.0, "scaled to 300 %")):  # fmt: skip
        assert scaled_to({"scale": scale}) == words
    for scale in (0.01, 1.0):
        study = FakeStudy(workers=(1, 2), blocks=1, options={"scale": scale}).study
        terminal = printed_by(partial(print_answer, study))
        for text in (terminal, page(study, []), tables_markdown(study), caption(study)):
            assert ("scaled to 1 %" in " ".join(text.split())) is (scale < 1)
        assert set(summary(study)["scale"]) == {scale}

"""An objective of a service level is a percentile, `<` and a time; any other text is bad usage."""

import pytest

from scaling.base.errors import UsageError
from scaling.study.combine import study_from
from scaling.study.definition import Study
from scaling.study.file import read_study, study_file_of, study_schema
from scaling.study.objective import PERCENTILES, Objective, parse_objective
from scaling.study.options import Options
from tests.support.json_schema import faults

ECHO = '[[workloads]]\nname = "echo"\n'


def study(text: str = "", *slo: str) -> Study:
    return study_from(
        Options(study="mine.toml", slo=slo),
        running_build="3.14t",
        load_file=lambda name: read_study(text + ECHO, name),
    )


@pytest.mark.parametrize(
    ("text", "objective"),
    [
        ("p99<20ms", Objective("p99", 0.02, "p99<20ms")),
        (" P50 < 1.5 s ", Objective("p50", 1.5, "p50<1.5s")),
        ("p999<250us", Objective("p999", 250e-6, "p999<250us")),
        ("p95 <5ms", Objective("p95", 0.005, "p95<5ms")),
    ],
)
def test_an_objective_is_a_percentile_and_a_limit(text: str, objective: Objective) -> None:
    found = parse_objective(text)
    assert found == objective
    assert found.share == PERCENTILES[found.percentile]
    assert parse_objective(found.text) == found


@pytest.mark.parametrize(
    "text",
    ["", "p99", "p99<20", "p98<20ms", "p99>20ms", "p99<0ms", "p99<-1ms", "p99<20 min", "20ms"],
)
def test_any_other_text_is_bad_usage_that_says_what_is_expected(text: str) -> None:
    for in_file, flag in ((f"slo = ['{text}']\n", ()), ("", (text or " ",))):
        with pytest.raises(UsageError, match="slo: expected ") as caught:
            study(in_file, *flag)
        assert caught.value.exit_code == 2


def test_a_study_has_several_and_flags_win() -> None:
    assert study().slo == ()
    assert study('slo = ["p99 < 20 ms", "p50<5ms", "p99<20ms"]\n').slo == ("p99<20ms", "p50<5ms")
    assert study('slo = ["p99<20ms"]\n', "p95<1s,p50<2ms").slo == ("p95<1s", "p50<2ms")


def test_the_settled_study_can_be_asked_again_with_or_without_one() -> None:
    for made in (study(), study("", "p99<20ms")):
        again = study_file_of(made.document, "journal")
        assert again is not None
        assert again.values["slo"] == made.slo


def test_the_schema_knows_what_fits() -> None:
    def wrong(value: object) -> list[str]:
        return faults({"slo": value, "workloads": [{"name": "serve"}]}, study_schema())

    assert wrong(["p99<20ms", " P999 < 1.5 s"]) == []
    assert wrong(["p99<20"])
    assert wrong("p99<20ms")

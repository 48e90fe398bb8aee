"""Every built-in study fits what the children really offer, and `scale` keeps to its time."""

import subprocess
import sys
from pathlib import Path

import pytest

from scaling.journal.record import Description, decode_description
from scaling.machine.topology import Topology
from scaling.plan.plan import make_plan
from scaling.plan.table import plan_table
from scaling.study.file import built_in_studies
from scaling.study.options import Options
from scaling.study.study import DEFAULT_STUDY, study_from

# What a study asks for though it cannot be had today, so that the plan says why.
REFUSED = {
    "compare": {("echo", "interpreters", "uvloop"), ("scrape", "interpreters", "asyncio")},
}


@pytest.fixture(scope="module")
def described() -> Description:
    """What the workers of this very interpreter say that they can run."""
    child = subprocess.run(
        [sys.executable, "-m", "workers", "--describe"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        check=True,
    )
    return decode_description(child.stdout)


@pytest.mark.parametrize("name", built_in_studies())
def test_a_built_in_study_can_be_planned(name: str, described: Description) -> None:
    study = study_from(Options(study=name), running_build="3.14t")
    made = make_plan(
        study,
        dict.fromkeys(study.arms, described),
        Topology(logical_cpus=2, physical_cores=2),
    )
    made.require_cells()
    refused = {(each.workload, each.model, each.loop): each.reason for each in made.refused}
    assert set(refused) == REFUSED.get(name, set())
    assert all(refused.values())


def test_scale_is_done_in_five_minutes_on_two_cores_and_mostly_measures(
    described: Description,
) -> None:
    study = study_from(Options(study=DEFAULT_STUDY), running_build="3.14t")
    made = make_plan(study, {"3.14t": described}, Topology(logical_cpus=2, physical_cores=2))
    table = plan_table(made)
    assert {cell.workers for cell in made.cells} == {1, 2, 4}
    assert table.blocks == 3
    # The whole session counts: the plots, the site's ceiling and the descriptions are in it.
    session_s = table.total_s + 20
    assert session_s < 300
    assert table.runs * made.study.window_s > 0.6 * session_s

"""Planned again, a published study has the runs of its journal, in the same order and groups.

So a study that is interrupted goes on under a later version, and seeds keep their meaning.
"""

from itertools import takewhile
from pathlib import Path

import pytest

from scaling.journal.reading import read_lines
from scaling.journal.record import Description, RatesLine, RunLine, StudyLine
from scaling.study.definition import Options
from scaling.study.file import study_file_of, study_from
from scaling.study.load import is_open_loop
from scaling.study.plan.cells import Plan, make_plan
from tests.support.plans import TWO_CORES
from tests.support.published import FOLDERS, name_of

# Versions before 1.1 chose other A/A pairs, and what some builds or workloads could not do they can
# today, or the other way round.
OTHER = {
    "epyc-2-cores/remedies-echo",
    *(
        f"epyc-2-cores-3/{name}"
        for name in ("broadcast", "compare", "losses", "stack-fair", "state")
    ),
    *(f"xeon-2-cores/{name}" for name in ("million", "million-fetch", "scale-pgo", "switches")),
    *(
        f"xeon-2-cores-2/{name}"
        for name in ("compare", "gateway", "remedies-echo", "task-overhead", "versions")
    ),
}
BLOCKS = 2
SAME = [folder for folder in FOLDERS if name_of(folder) not in OTHER]


def planned(head: StudyLine, here: Description) -> Plan:
    file = study_file_of(head.study, head.name)
    study = study_from(Options(study=head.name), running_build="3.14t", file=file)
    plan = make_plan(study, dict.fromkeys(study.arms, here), TWO_CORES)
    return plan.at_rates(head.calibrations)


@pytest.mark.slow
@pytest.mark.parametrize("folder", SAME, ids=name_of)
def test_the_plan_has_the_runs_of_the_journal(folder: Path, described_here: Description) -> None:
    head, *lines = takewhile(
        lambda line: not isinstance(line, RunLine) or line.block < BLOCKS,
        read_lines(folder / "journal.jsonl.gz", lambda _: None),
    )
    assert isinstance(head, StudyLine)
    rates = [line for line in lines if isinstance(line, RatesLine)]
    head = rates[0].of(head) if rates else head
    plan = planned(head, described_here)
    runs = [line for line in lines if isinstance(line, RunLine) and line.attempt == 1]
    expected = [run for block in range(BLOCKS) for run in plan.block(block)]
    if rates:  # they became known in the first block, whose open loops came last then
        expected.sort(
            key=lambda run: (run.block, not run.block and is_open_loop(run.cell.parameters))
        )
    assert (plan.order, plan.study.blocks) == (head.order, head.blocks)
    assert [line.key for line in runs] == [run.key for run in expected]
    first = {run.key: batch[0].position for batch in plan.together(expected) for run in batch}
    for line in runs:
        assert line.placement == plan.placement(line.cell.workers)
        if line.group is not None:
            assert line.group == first[line.key]

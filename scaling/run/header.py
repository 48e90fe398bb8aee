"""The first line of a journal: the study, the machine and the builds."""

from collections.abc import Mapping

import msgspec

from scaling.base.formats import now
from scaling.base.version import __version__
from scaling.builds.prepared_arm import PreparedArm
from scaling.journal.identity import identity
from scaling.journal.record import SCHEMA, ArmRecord, Environment, Machine, StudyLine, WorkloadNote
from scaling.run.path_redaction import without_own_paths
from scaling.study.plan.cells import Plan
from scaling.study.plan.table import refused_cells


def head(
    plan: Plan,
    arms: Mapping[str, PreparedArm],
    machine: Machine,
    *,
    pins: str,
    workers_source: str,
) -> StudyLine:
    """Describe a study before its first run; `pins` and `workers_source` are digests."""
    study = plan.study.document
    records = {
        name: ArmRecord(
            build=prepared.arm.build.name,
            settings=list(prepared.arm.settings),
            origin=prepared.origin,
            runtime=prepared.runtime,
            description=_described(prepared) if prepared.is_python else None,
            expected=prepared.arm.expected,
        )
        for name, prepared in arms.items()
        if prepared.is_there
    }
    same = identity(
        study=study, machine=machine, arms=records, pins=pins, workers_source=workers_source
    )
    return StudyLine(
        schema=SCHEMA,
        name=plan.study.name,
        machine=machine,
        study=study,
        seed=plan.study.seed,
        blocks=plan.study.blocks,
        order=plan.order,
        arms=records,
        workloads={
            name: WorkloadNote(
                operation=facts.operation,
                summary=facts.summary,
                in_flight=facts.in_flight,
                finite=facts.finite,
                served=facts.served,
                services=facts.services,
            )
            for name, facts in plan.workloads.items()
        },
        refused=[
            msgspec.structs.replace(each, reason=without_own_paths(each.reason))
            for each in refused_cells(plan)
        ],
        pins=pins,
        workers_source=workers_source,
        fingerprint=same.fingerprint,
        scaling=__version__,
        started_at=now(),
    )


def _described(arm: PreparedArm) -> Environment:
    return Environment(python=arm.description.python, packages=arm.description.packages)

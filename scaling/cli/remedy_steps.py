"""The steps of `scaling remedies`: what applies, each remedy alone, the best together."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from scaling.analysis.remedies import Found, Remedies, remedies_in
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from scaling.base.console import say
from scaling.base.errors import UsageError
from scaling.builds.arms import parse_arm
from scaling.builds.settings.setting import GTHREAD
from scaling.journal.record import Cell
from scaling.machine.topology import default_worker_counts, read_topology
from scaling.run.application_trial import interface_of, try_application
from scaling.run.measure import ChildNeeds, Prepared, measure, prepared
from scaling.run.progress import display
from scaling.study.application import WORKLOAD as APP
from scaling.study.application import WSGI, study_name
from scaling.study.definition import ApplicationNote, Options, Sent, WorkloadEntry
from scaling.study.file import StudyFile
from scaling.study.plan.table import announced
from scaling.study.remedies import (
    FREE,
    TOGETHER,
    LeftOut,
    best_together,
    reason_against,
    remedies_study,
)


@dataclass(frozen=True, kw_only=True)
class RemedySteps:
    """What is asked and needed, and where progress is printed. `only` are the remedies to measure,
    `requests` a user's own, with what the study's first line says of them.
    """

    options: Options
    needs: ChildNeeds
    entry: WorkloadEntry
    requests: tuple[list[dict[str, Any]], Sent] | None
    only: Sequence[str]
    output: Path | None
    console: Console
    errors: Console

    def known(self) -> "RemedySteps":
        """The same with what only the environment knows: whether an application is one of WSGI,
        which is measured in threads without loops, as by `scaling app`.
        """
        if self.entry.name != APP:
            return self
        with self._without_any() as ready:
            if interface_of(ready) != WSGI:
                return self
        parameters = {**self.entry.parameters, "interface": WSGI, "server": GTHREAD}
        return replace(self, entry=msgspec.structs.replace(self.entry, parameters=parameters))

    def measure(self) -> Found:
        """Measure each remedy alone, then the best together.

        Raises:
            UsageError: nothing of it can be measured here.
        """
        cell, served = self._cell()
        alone, left_out = self._each(cell, served=served)
        base = self._bases[0]
        winners = alone.winners(base)
        chosen = best_together(base, winners, cell)
        if len(chosen) < 2:
            return Found(alone=alone, together=None, best=tuple(winners[:1]), left_out=left_out)
        # The best one alone is in the same blocks: together they may do less than it does.
        added = {base: [chosen, winners[:1]]}
        together = self._run(added, served=served, suffix=f"-{TOGETHER}")
        best = (together.winners(base) or winners)[0].split("+")
        return Found(alone=alone, together=together, best=tuple(best), left_out=left_out)

    @property
    def _bases(self) -> tuple[str, ...]:
        """The arms without a remedy."""
        given = self.options.values().get("arms") or (FREE,)
        return tuple(parse_arm(arm).name for arm in given)

    @property
    def _name(self) -> str:
        application = self.entry.parameters.get("application")
        name = study_name(application) if application else self.entry.name.replace(":", "-")
        return f"remedies-{name}"

    def _cell(self) -> tuple[Cell, bool]:
        """Where remedies are to be used, as the study settles it, and whether that is served."""
        with self._without_any() as ready:
            cell = ready.plan.cells[0]
            return cell, ready.plan.workloads[cell.workload].served

    def _each(self, cell: Cell, *, served: bool) -> tuple[Remedies, list[LeftOut]]:
        """Every remedy that applies, alone; and those that do not.

        Raises:
            UsageError: none applies.
        """
        added: dict[str, list[tuple[str]]] = {}
        left_out = []
        for base in self._bases:
            added[base] = []
            for name in self.only:
                reason = reason_against(name, base, cell)
                if reason is None:
                    added[base].append((name,))
                else:
                    left_out.append(LeftOut(name, base, reason))
        if not any(added.values()):
            reasons = "; ".join(f"{each.remedy} on {each.arm}: {each.reason}" for each in left_out)
            raise UsageError(f"remedies: none of these can be measured here. {reasons}")
        return self._run(added, served=served), left_out

    def _run(
        self, added: Mapping[str, Sequence[Sequence[str]]], *, served: bool, suffix: str = ""
    ) -> Remedies:
        """Measure each arm without a remedy, and with each of the settings to add to it."""
        study = remedies_study(
            self.entry, added, self._workers(), f"{self._name}{suffix}", served=served
        )
        output = self.output / TOGETHER if self.output and suffix else self.output
        with self._prepared(study) as ready:
            for line in announced(ready.plan):
                say(self.console, line)
            if self.entry.name == APP:
                try_application(ready)
            # Not again: with the second study interrupted, the first one is there already.
            folder = measure(ready, output, display(self.console), again=False)
        say(self.console, f"journal: {folder}")
        return remedies_in(StudyResults.of(read_journal(folder)), self._bases)

    def _workers(self) -> tuple[int, ...]:
        """One worker, and the largest number with a core for each."""
        topology = read_topology()
        on_cores = [n for n in default_worker_counts(topology) if topology.region(n) == "cores"]
        return tuple(dict.fromkeys((1, max(on_cores, default=1))))

    def _without_any(self) -> AbstractContextManager[Prepared]:
        """The study without a remedy, prepared; nothing of it is run."""
        study = remedies_study(self.entry, {self._bases[0]: ()}, (1,), self._name, served=False)
        return self._prepared(study)

    @contextmanager
    def _prepared(self, study: StudyFile) -> Iterator[Prepared]:
        options = copy(self.options)
        options.flags = {k: value for k, value in options.flags.items() if k != "arms"}
        options.study = study.values["name"]
        options.workload = ()
        requests: list[dict[str, Any]] = []
        if self.requests:
            requests, sent = self.requests
            note = ApplicationNote(requests=sent)
            study = replace(study, values={**study.values, "application": note})
        with prepared(options, self.needs, partial(say, self.errors), study) as ready:
            yield replace(ready, requests=requests)


def entry_of(workloads: Sequence[str], application: str | None, *, factory: bool) -> WorkloadEntry:
    """The one workload that is asked for.

    Raises:
        UsageError: none or several are.
    """
    if application:
        if workloads:
            raise UsageError("--app and --workload: give one of them")
        parameters = {"application": application, "factory": factory, "server": "loops"}
        study_name(application)  # checks it
        return WorkloadEntry(name=APP, parameters=parameters)
    if len(workloads) != 1:
        raise UsageError("remedies: say what to measure: --workload echo, or --app shop.main:app")
    return WorkloadEntry(name=workloads[0])

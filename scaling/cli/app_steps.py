"""The steps of `scaling app`: what the application is, tried, checked, measured."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from packaging.utils import canonicalize_name
from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from scaling.base.console import say
from scaling.base.formats import duration, listed, plural
from scaling.cli.ready import say_what_blocks
from scaling.journal.beside import CHECK_FILE, FAULTS_FILE, SOAK_FILE, AppCheck
from scaling.report.deploy.commands import PROGRAMS
from scaling.report.terminal.app_answer import finding_lines
from scaling.run.application_trial import (
    check_of,
    interface_of,
    requests_of_schema,
    servers_that_fail,
    try_application,
)
from scaling.run.deployed import deployed
from scaling.run.faults_and_soak import FAULT_S, FAULTS, measure_faults, measure_soak
from scaling.run.measure import ChildNeeds, Prepared, generators_of, measure, prepared
from scaling.run.progress import display
from scaling.study.application import COMMANDS, DEPLOYED, WSGI, AppAsked, application_study
from scaling.study.definition import Options
from scaling.study.plan.table import announced

WSGI_SERVER = "gunicorn"  # the requirement that serves WSGI
WITH_GIL = ("processes", "forked")  # models, as they are deployed


@dataclass(frozen=True, kw_only=True)
class AppSteps:
    """The options of `scaling app`, and where progress and errors are printed.

    `flags` are those of a study, `requests` a user's own. `interface` is what the application was
    found to be, once it is known. `soak_s` is how long memory is watched under load, which ends at
    `memory_bytes`.
    """

    asked: AppAsked
    needs: ChildNeeds
    flags: Mapping[str, Any]
    requests: Sequence[Mapping[str, Any]]
    console: Console
    errors: Console
    interface: str = ""
    soak_s: float | None = None
    memory_bytes: float | None = None

    def known(self) -> "AppSteps":
        """The same with what only the environment knows: whether the application is one of WSGI,
        and of a `full` study which other servers are installed; prints which are not.
        """
        application_study(self.asked)  # what cannot be asked is refused before anything is made
        free = self.asked.builds[1]
        own = self.needs.pythons.get(free)
        names, files = self.needs.requirements, self.needs.requirement_files
        if names or files or own:
            say_what_blocks(names, [Path(each) for each in files], free, self.errors, own)
        if self.asked.interface == WSGI:
            return replace(self, interface=WSGI)
        with self._in_threads() as ready:
            interface = interface_of(ready)
            found = next(iter(ready.arms.values())).description.packages
            packages = {canonicalize_name(each) for each in found}  # Hypercorn, say
        if interface == WSGI:
            return replace(self, interface=WSGI, asked=replace(self.asked, interface=WSGI))
        deployed = DEPLOYED if self.asked.full and interface == "asgi" else {}
        servers = tuple(name for name, each in deployed.items() if each.package in packages)
        for name in (each for each in deployed if each not in servers):
            package = deployed[name].package
            self._note(f"{name} is not measured: it is not installed (--with {package})")
        return replace(self, interface=interface, asked=replace(self.asked, servers=servers))

    def with_servers_that_serve(self) -> "AppSteps":
        """The same without the other servers that do not serve the application here; prints why."""
        if not self.asked.servers:
            return self
        with self.ready() as ready:
            failing = servers_that_fail(ready, self.asked.servers)
        for name, why in failing.items():
            self._note(f"{name} is not measured: {why}".partition("\n")[0])
        servers = tuple(each for each in self.asked.servers if each not in failing)
        return replace(self, asked=replace(self.asked, servers=servers))

    def with_schema(self) -> "AppSteps":
        """The same with the requests of the application's own schema."""
        with self._in_threads() as ready:
            requests, sent = requests_of_schema(ready, self._note)
        note = msgspec.structs.replace(self.asked.note, requests=sent)
        return replace(self, requests=requests, asked=replace(self.asked, note=note))

    def check(self) -> AppCheck:
        """Only check that it is safe on several loops, or in several threads if it is of WSGI.

        It is not tried before: what a trial refuses may be what the check explains.
        """
        with self._in_threads() as ready:
            return check_of(ready, self._note)

    def measure(self, output: Path | None, *, checked: bool) -> Path:
        """Try it, check it if that is asked, measure it; the folder that the study is in."""
        steps = self.with_servers_that_serve()
        with steps.ready() as ready:
            for line in (*announced(ready.plan), *self.afterwards()):
                say(self.console, line)
            try_application(ready, self.asked.servers)
            # The check serves WSGI on our own server, which a user's environment may not have.
            found = None
            if checked and not (self.asked.interface == WSGI and self.needs.pythons):
                found = check_of(ready, self._note)
                for line in finding_lines(found):
                    say(self.console, line)
            measured = measure(ready, output, display(self.console))
            if found:
                CHECK_FILE.write(measured, found)
            if self.asked.full or self.soak_s:
                self._as_deployed(ready, measured)
            return measured

    def afterwards(self) -> Iterator[str]:
        """What is measured after the study, and how long that takes."""
        models = COMMANDS.get(self.interface, {})
        if self.asked.full and models:
            faults_s = FAULT_S * len(FAULTS) * len(models)
            kinds = plural(len(FAULTS), "fault")
            yield f"then {kinds} in {listed(models)}: about {duration(faults_s)}"
        if self.soak_s and models:
            runs = f"{plural(len(models), 'run')} of {duration(self.soak_s)}"
            yield f"then memory under load: {runs}, with {listed(models)}"

    def _as_deployed(self, ready: Prepared, folder: Path) -> None:
        """Measure what faults and a long load do, at the rate that was measured."""
        found = StudyResults.of(read_journal(folder)).application
        if found is None or math.isnan(found.rate_per_s):
            self._note("faults and memory under load are not measured: no valid run gave a rate")
            return
        gil, free = self.asked.builds
        arms = {"threads": ready.arms[free]} | dict.fromkeys(WITH_GIL, ready.arms[gil])
        asked = self.asked.application, self.asked.factory
        served = list(deployed(arms, asked, self.interface, PROGRAMS.get(self.interface)))
        requests, rate_per_s = self.requests or [{"path": "/"}], found.rate_per_s
        if self.asked.full:
            FAULTS_FILE.write(folder, measure_faults(served, requests, rate_per_s, self._note))
        if self.soak_s:
            generators = replace(generators_of(ready, 1), requests=requests)
            limit_bytes = self.memory_bytes
            soaked = measure_soak(
                served, generators, rate_per_s, self.soak_s, limit_bytes, self._note
            )
            SOAK_FILE.write(folder, soaked)

    def _note(self, text: str) -> None:
        say(self.errors, text)

    def _in_threads(self) -> AbstractContextManager[Prepared]:
        """The same study prepared with threads alone, which is sooner."""
        return replace(self, asked=replace(self.asked, threads_only=True)).ready()

    @contextmanager
    def ready(self) -> Iterator[Prepared]:
        """The study, prepared; it can be run inside the context."""
        study, needs = application_study(self.asked), self.needs
        if self.asked.interface == WSGI and not needs.pythons:
            needs = replace(needs, requirements=[*needs.requirements, WSGI_SERVER])
        options = Options(study=study.values["name"], **self.flags)
        with prepared(options, needs, self._note, study) as ready:
            yield replace(ready, requests=self.requests)

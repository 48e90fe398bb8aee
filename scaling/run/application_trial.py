"""A user's application is tried on each build before anything is measured.

One short run each shows most of what can be wrong: a module that cannot be imported, an application
that does not start or answers with errors, a package that turns the GIL on. A study would report
the same in every run, ten minutes later.
"""

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from scaling.analysis.check.exceptions import stuck
from scaling.analysis.validity.finding import error_samples
from scaling.base.errors import UsageError
from scaling.base.formats import percent
from scaling.base.models import model_of
from scaling.builds.arms import parse_arm
from scaling.builds.cache import Say
from scaling.builds.ready.package import instead_of_module
from scaling.journal.check_file import AppCheck
from scaling.journal.record import Cell, GilStates, RunLine
from scaling.run.app_requests import sendable
from scaling.run.check.application import MODELS, check_application
from scaling.run.check.one_loop import answers_of
from scaling.run.child import Child
from scaling.run.execute import Executor
from scaling.run.openapi import PLACES, requests_in_schema, schema_in
from scaling.run.prepare import Prepared, generators_of, services_of
from scaling.run.progress import failure_of
from scaling.study.application_note import SentRequests
from scaling.study.load import CLOSED, RATE
from scaling.study.plan.order import PlannedRun

WINDOW_S, WARMUP_S = 0.3, 0.1
MOST_ERRORS = 0.5  # a larger share of requests that fail: no figure would mean anything

# Run in the child's environment. The application finds its share of each budget, as in a run.
FIND_OUT = """
import json, os, sys
from workers.system import end_with_the_parent
from workers.workloads.parts import applications
end_with_the_parent()
application, factory, interface, budgets = json.loads(sys.argv[1])
os.environ |= applications.share_variables(1, 0, applications.read_budgets(budgets))
try:
    found = applications.load_application(application, factory, interface)
    found.make()
except applications.ApplicationError as error:
    sys.exit(f"{sys.argv[2]}{error}")
print(found.interface)
"""
FIND_OUT_S = 60.0
REFUSED = "application refused: "

HUNG = "hung, or the loop is blocked"  # what the host says of such a worker


def try_application(ready: Prepared) -> None:
    """Run the application once on each build, for a third of a second.

    Raises:
        UsageError: it cannot be measured; says why, and what to do.
    """
    study = replace(ready.plan.study, window_s=WINDOW_S, warmup_s=WARMUP_S)
    plan = replace(ready.plan, study=study)
    with services_of(ready) as services:
        execute = Executor(plan, ready.arms, services, generators_of(ready, 1))
        for cell in trial_cells(plan.cells):
            line, _ = execute(PlannedRun(0, 0, cell))
            if problem := problem_of(line):
                raise UsageError(f"{cell.parameters['application']} on {cell.arm}: {problem}")


def interface_of(ready: Prepared) -> str:
    """The interface of the application, found out in its own environment; empty where that fails
    for a reason that a trial shows.

    Raises:
        UsageError: it cannot be imported or made, or is no application.
    """
    cell = ready.plan.cells[0]
    arm = ready.arms[cell.arm]
    names = ("application", "factory", "interface", "budgets")
    asked = json.dumps([cell.parameters[name] for name in names])
    where = f"{cell.parameters['application']} on {cell.arm}"
    try:
        answer = subprocess.run(
            [arm.program, "-c", FIND_OUT, asked, REFUSED],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",  # an application prints what it likes
            env=dict(arm.environment),
            timeout=FIND_OUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"{where}: importing it took more than {FIND_OUT_S:.0f} s: what it waits for may not "
            "be there"
        ) from None
    _, refused, why = answer.stderr.rpartition(REFUSED)
    if refused:
        raise UsageError(f"{where}: {why.strip()}")
    return answer.stdout.strip().rpartition("\n")[2] if answer.returncode == 0 else ""


def check_of(ready: Prepared, say: Say, mixed: Sequence[str] = ()) -> AppCheck:
    """The check on several loops in threads, in processes, and under models that are `mixed`.

    Raises:
        AppCheckError: it does not work on one loop.
    """
    child, cell = _in_threads(ready)
    requests = ready.requests or [{"path": "/"}]
    models = (*MODELS, *(each for each in mixed if model_of(each).forks <= ("forked" in MODELS)))
    asked = cell.parameters
    return check_application(child, asked, requests, models=models, loop=cell.loop, say=say)


def requests_of_schema(ready: Prepared, say: Say) -> tuple[list[dict[str, Any]], SentRequests]:
    """The requests that the application's own schema gives; `say` gets what is left out.

    Raises:
        AppCheckError: it does not start.
        UsageError: it has no schema, or no request can be made of it.
    """
    child, cell = _in_threads(ready)
    places = [{"path": each} for each in PLACES]
    answers = answers_of(child, cell.parameters, places, loop=cell.loop)
    return sendable(*requests_in_schema(schema_in([each.body for each in answers])), say)


def _in_threads(ready: Prepared) -> tuple[Child, Cell]:
    """The child that has the application's loops in threads, and one of its cells."""
    cell = next(each for each in ready.plan.cells if each.model == "threads")
    arm = ready.arms[cell.arm]
    return Child(arm.program, arm.environment, arm.arguments), cell


def trial_cells(cells: Sequence[Cell]) -> Iterator[Cell]:
    """One in a closed loop for each build and server, with the fewest workers: what goes wrong
    with more is what the check is for.
    """
    tried = set()
    for cell in sorted(cells, key=lambda each: each.workers):
        what = parse_arm(cell.arm).build, cell.model == "threads", cell.parameters.get("server")
        if cell.parameters.get(RATE) == CLOSED and what not in tried:
            tried.add(what)
            yield cell


def problem_of(line: RunLine) -> str:
    """The reason that such a run was not measured, in one or two lines; empty where it was."""
    if line.outcome != "measured" or line.record is None:
        failure = line.record.failure if line.record else None
        if failure is None:
            what = failure_of(line)
            return what if line.signal else _with_last_words(what, line)
        kind, _, words = failure.error.partition(": ")
        return words if kind == "ApplicationError" else _with_last_words(failure.error, line)
    if found := _gil_turned_on(line):
        return found
    load = line.load
    errors = sum(load.errors.values()) if load else 0
    if load and errors > MOST_ERRORS * max(load.completed + errors, 1):
        share = errors / (load.completed + errors)
        kinds = ", ".join(_error_words(line))
        what = f"{percent(share)} of the requests failed ({kinds}). --requests says what is sent"
        return _with_last_words(what, line)
    return ""


def _error_words(line: RunLine) -> list[str]:
    """The kinds of errors, the most frequent first; then what the workers saw."""
    counts = line.load.errors if line.load else {}
    kinds = sorted(counts, key=lambda kind: -counts[kind])
    return [*kinds, *dict.fromkeys(error_samples(line))]


def _gil_turned_on(line: RunLine) -> str:
    """The import that turned the GIL on in a build without it, and a remedy; else empty."""
    assert line.record
    gil: GilStates = line.record.process.gil
    if not (parse_arm(line.cell.arm).without_gil and gil.seen and gil.seen[-1]):
        return ""
    name = gil.enabled_by or "an import"
    instead = instead_of_module(name)
    return f"importing {name} turns the GIL on, so that threads take turns: {instead}"


def _with_last_words(what: str, line: RunLine) -> str:
    """With the last line of the application's own output, where there is one; of a run that hung,
    with the line of its code.
    """
    if HUNG in what or line.outcome == "timed-out":
        return f"{what}{stuck(line.stderr)}"
    lines = [text.strip() for text in line.stderr.splitlines() if text.strip()]
    last = lines[-1] if lines else ""
    return f"{what}\nits last words: {last}" if last and last not in what else what

"""`scaling gate`: checks bounds on a study, and compares it with an earlier one."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.text import Text

from scaling.analysis.gate import Choice, chosen, efficiency, largest, loss, regression
from scaling.analysis.tables.across import across
from scaling.analysis.tables.study import Study
from scaling.base.console import say
from scaling.base.errors import UsageError
from scaling.base.formats import plural
from scaling.base.models import THREADS
from scaling.report.compare import CHANGES, about_two
from scaling.report.files import read
from scaling.report.render.document import Document, markdown
from scaling.report.render.grid import Heading, Tone
from scaling.report.render.terminal import print_document
from scaling.report.view.application import shipped
from scaling.report.view.declare import Table, fact, plain, ratio
from scaling.report.view.next_step import more_than_measured, time_of, with_blocks
from scaling.report.view.notes import warnings
from scaling.study.questions import THROUGHPUT

PASS, FAIL, OPEN = 0, 1, 3  # exit codes
SCHEMA = 2  # of the JSON; increase it when a key changes its meaning
JOB_SUMMARY = "GITHUB_STEP_SUMMARY"
# The bounds, each with the value that cannot fail.
USELESS = {"min_efficiency": 0.0, "max_loss": 1.0, "max_regression": 1.0}
TONES: dict[str, Tone] = {"holds": "good", "fails": "bad", "open": "open"}

CHECKS = Table(
    "Bounds",
    rows={"": ("cell", "what")},
    columns=(
        fact(Heading("at least"), "least"),
        ratio(Heading("measured")),
        fact(Heading("outcome", left=True), "outcome", TONES),
    ),
)


def _require_bound(bounds: Mapping[str, float], against: Path | None) -> None:
    """Require a bound that can fail, and a study to compare with if a bound needs one.

    Raises:
        UsageError: there is no such bound.
    """
    if not bounds and against is None:
        raise UsageError(
            "gate: no bound given: use --max-loss 5%, --min-efficiency 0.8, or --against OLD "
            "--max-regression 5%"
        )
    if "max_regression" in bounds and against is None:
        raise UsageError("gate: --max-regression needs a study to compare with: --against OLD")
    for name, bound in bounds.items():
        if bound == USELESS[name]:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"gate: {flag}: a bound of {bound:.0%} can never fail")


def gate(
    results: Path,
    bounds: Mapping[str, float],
    choice: Choice,
    console: Console,
    *,
    against: Path | None = None,
    allow_open: bool = False,
    allow_void: bool = False,
    json_to: Console | None = None,
    summary: Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> int:
    """Print the checks of a study, and what changed since the one `against`; return the exit code.

    `bounds` are shares, by the names in `USELESS`. The code is 0 where each is kept, 1 where one is
    proven to be broken or a study is void, 3 where one is open. A Markdown summary is appended to
    `summary`, by default to the file that GitHub Actions names.

    Raises:
        UsageError: nothing could be read, checked or written: exit code 1 is for proven failures.
    """
    _require_bound(bounds, against)
    now = read(results, console)
    then = read(against, console) if against else None
    checks = _checks(bounds, now, then, choice)
    code = _code(checks, allow_open=allow_open)
    outcome = _sentence("gate", checks, code)
    if (void := _void(now, then)) and not allow_void:
        code, outcome = FAIL, f"gate: FAILS: {void}. --allow-void lets it pass."
    found = _document(outcome, checks, now, then, choice)
    if json_to is not None:
        rows = [plain(row) for row in checks.to_dict("records")]
        record = {"schema": SCHEMA, "outcome": outcome, "exit_code": code, "checks": rows}
        say(json_to, json.dumps(record, ensure_ascii=False, indent=2))
    else:
        print_document(found, console)
    if file := summary or environment.get(JOB_SUMMARY):
        _append(Path(file), markdown(found))
    return code


def tolerated(study: Study, share: float, console: Console) -> int:
    """Check whether threads of an application lose at most `share` of the processes' requests.

    Returns the exit code: 0 if they lose no more, 1 if they lose more, 3 if that is open.

    Raises:
        UsageError: threads and processes were not both measured.
    """
    found = shipped(study)
    threads = (found["measure"] == THROUGHPUT) & (found["model"] == THREADS)
    checks = loss(study, study.cells.loc[found.loc[threads, "of"]], share)
    code = _code(checks, allow_open=False)
    for line in (*_more_blocks(checks, study), _sentence("--tolerate", checks, code)):
        console.print(Text(line))
    return code


def _checks(
    bounds: Mapping[str, float], now: Study, then: Study | None, choice: Choice
) -> pd.DataFrame:
    """Every chosen cell against every bound: a row each (`scaling.analysis.gate`)."""
    if not bounds:
        return pd.DataFrame()
    cells = largest(chosen(now.cells, choice), choice)
    check = {
        "min_efficiency": partial(efficiency, now, cells),
        "max_loss": partial(loss, now, cells),
    }
    if then is not None:
        check["max_regression"] = partial(regression, now, then, cells)
    found = [check[name](bound) for name, bound in bounds.items()]
    return pd.concat(found, ignore_index=True)


def _void(now: Study, then: Study | None) -> str:
    return "; ".join(
        f"{name} is void ({', '.join(each.soundness.reasons)})"
        for name, each in {"RESULTS": now, "OLD": then}.items()
        if each is not None and each.soundness.status == "void"
    )


def _code(checks: pd.DataFrame, *, allow_open: bool) -> int:
    outcomes = set(checks.get("outcome", ()))
    if "fails" in outcomes:
        return FAIL
    return OPEN if "open" in outcomes and not allow_open else PASS


def _sentence(who: str, checks: pd.DataFrame, code: int) -> str:
    """The outcome in one line: `gate: FAILS: of 3 checks 1 fails.`."""
    if checks.empty:
        return f"{who}: passes: no bound was stated; --max-loss 5% states one."
    counts = Counter(checks["outcome"])
    said = {"fails": ("fails", "fail"), "open": ("is open", "are open"), "holds": ("holds", "hold")}
    parts = [
        f"{counts[outcome]} {verbs[counts[outcome] > 1]}"
        for outcome, verbs in said.items()
        if outcome in counts
    ]
    state = {PASS: "passes", FAIL: "FAILS", OPEN: "is open"}[code]
    return f"{who}: {state}: of {plural(len(checks), 'check')} {', '.join(parts)}."


def _document(
    outcome: str, checks: pd.DataFrame, now: Study, then: Study | None, choice: Choice
) -> Document:
    """The checks and the changes, with warnings about both studies."""
    notes = [*_about("RESULTS", now), *(_about("OLD", then) if then else ())]
    notes += _more_blocks(checks, now)
    grids = list(CHECKS.grids(now, checks))
    if then is not None:
        changed = across(now, then)
        changed = changed if "workload" in choice else changed[~changed["control"]]
        for column, values in choice.items():
            changed = changed[changed[column].isin(list(values))]
        grids += CHANGES.grids(now, changed)
        notes += about_two(now, then)
    return Document("Scaling gate", outcome, answer=grids, notes=notes)


def _about(name: str, study: Study) -> list[str]:
    return [f"{name}: {text}" for text in (warnings(study), study.soundness.text) if text]


def _more_blocks(checks: pd.DataFrame, study: Study) -> Iterator[str]:
    """The blocks that would decide open checks, the time that they take, and the command."""
    needed = checks["blocks"].dropna() if len(checks) else ()
    if len(needed):
        blocks = more_than_measured(study, int(max(needed)))
        yield (
            f"{blocks} blocks would decide what is open, in about {time_of(study, blocks)}: "
            f"{with_blocks(study, blocks)}"
        )


def _append(file: Path, text: str) -> None:
    """Append to the summary, to which other steps of a job append, too."""
    try:
        with file.open("a", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise UsageError(f"gate: {file} cannot be written ({error.strerror or error})") from None

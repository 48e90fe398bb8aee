"""Findings of an application check: a sentence, lines for the terminal, a table."""

from collections.abc import Collection, Iterator

import pandas as pd

from scaling.analysis.tables.study import Study
from scaling.base.formats import listed, plural
from scaling.base.models import PROCESSES, is_mixed, parts_of, workers_each
from scaling.journal.check_file import AppCheck, read_check

WHERE = {
    "threads": "on several loops",
    "processes": "in fresh processes",
    "forked": "in forked processes",
}


def where(models: Collection[str]) -> str:
    """`on several loops and in forked processes`; for both kinds `in processes`."""
    if set(PROCESSES) <= set(models):
        rest = [_place(each) for each in models if each not in PROCESSES]
        return listed([*rest, "in processes"])
    return listed(map(_place, models))


def _place(model: str) -> str:
    threads = f" of {workers_each(model, 0)} threads" if is_mixed(model) else ""
    return f"{WHERE[parts_of(model)[-1]]}{threads}"


def check_sentence(found: AppCheck) -> str:
    """`Check: 2 findings (mixed-up, other-loop): wrong on several loops, so not recommended.`."""
    kinds = ", ".join(dict.fromkeys(each.kind for each in found.findings))
    if found.ok:
        said = f"Check: answers are the same {where(found.models)} as on one loop"
        said += f"; noted: {kinds}." if kinds else "."
    else:
        said = f"Check: {plural(len(found.findings), 'finding')} ({kinds})"
        wrong = found.wrong_models
        said += f": wrong {where(wrong)}, so not recommended." if wrong else "."
    return " ".join([said, *not_checked(found)[:1]])


def not_checked(found: AppCheck) -> list[str]:
    """A sentence for each thing that was not checked."""
    return [f"Not checked: {each}." for each in found.left_out]


def finding_lines(found: AppCheck) -> Iterator[str]:
    """The findings with their requests and remedies; one line without any."""
    yield check_sentence(found)
    for each in found.findings:
        request = f" ({each.request})" if each.request else ""
        yield f"  {each.kind}{request}: {each.message}"
        yield f"    {each.remedy}"
    yield from (f"  {each}" for each in not_checked(found)[1:])


def checked(study: Study) -> str:
    """The sentence of the check beside a study's journal; empty without a check."""
    found = read_check(study.folder)
    return check_sentence(found) if found else ""


def findings(study: Study) -> pd.DataFrame:
    """The findings of the check beside a study's journal, a row each."""
    found = read_check(study.folder)
    return pd.DataFrame(
        [
            {
                "finding": each.kind,
                "where": where(each.models),
                "request": each.request,
                "message": each.message,
                "remedy": each.remedy,
            }
            for each in (found.findings if found else [])
        ]
    )

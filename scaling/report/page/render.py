"""A study as one HTML page: every part gathered, then put into the template.

The page asks for nothing: its style, its pictures and its icon are in it, there is no script, and a
content security policy forbids whatever might be added. Texts from outside (names, parameters,
messages of errors) are escaped by the template engine; only our own pictures are taken as they are.
"""

from operator import attrgetter
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.analysis.table.load import Journal
from scaling.base import formats
from scaling.base.vocabulary import MODELS
from scaling.journal.record import StudyLine
from scaling.report.page.again import again_block
from scaling.report.page.answer import answer_blocks
from scaling.report.page.facts import machine_block, question_block
from scaling.report.page.figures import figure_parts
from scaling.report.page.loops import loop_blocks
from scaling.report.page.parts import PageSection
from scaling.report.page.swept import sweep_blocks
from scaling.report.page.trust import law_blocks, noise_block, steadiness_block, validity_blocks
from scaling.report.plots.draw import subjects
from scaling.report.tables.comparison import warnings_of
from scaling.report.tables.grid import Cell

QUESTION = (
    "If asyncio code runs as N event loops, what throughput, latency and memory does it get from N "
    "threads without the GIL, compared with the GIL, with N processes and with N sub-interpreters?"
)
NOTHING = "Too few valid runs at more than one N to answer in words; what there is follows."
ALWAYS = ("question", "answer")  # also where there is nothing to tell of them
LOOPS = "Each loop over asyncio, like held against like; other runtimes over Python."
SWEEPS = "How the figures go with a parameter that was varied."
LAWS = (
    "A law is fitted inside one region of the machine only (cores, SMT siblings, oversubscribed), "
    "and only to enough points; nothing is extrapolated."
)
VALIDITY = "Why these figures can be believed, or which of them cannot."


def page(journal: Journal) -> str:
    """The HTML of a study; the same journal gives the same page.

    Raises:
        UsageError: the frame holds several studies.
    """
    study, results = journal.study, StudyResults.of(journal)
    about = list(subjects(results).values())
    answers = answer_blocks(results)
    parts = [
        PageSection("question", "The question", [question_block(results)], _asked(journal)),
        PageSection("answer", "The answer", answers, "" if answers else NOTHING),
        PageSection("machine", "The machine and the builds", [machine_block(study)]),
        *figure_parts(about),
        PageSection("loops", "The loop", loop_blocks(results.compared), LOOPS),
        PageSection("sweeps", "By parameter", sweep_blocks(about, results.sweeps), SWEEPS),
        PageSection("laws", "Laws", law_blocks(results), LAWS),
        PageSection("noise", "Noise floor", [noise_block(results)]),
        PageSection("steadiness", "Steadiness and drift", [steadiness_block(results)]),
        PageSection("validity", "Validity", validity_blocks(results), VALIDITY),
        PageSection("again", "How to reproduce it", [again_block(study)]),
    ]
    return _template().render(
        study=study,
        question=QUESTION,
        parts=[part for part in parts if part.name in ALWAYS or not part.is_empty],
        is_void=results.soundness.status == "void",
        warnings=warnings_of(results),
        skipped=journal.notes,
    )


def _asked(journal: Journal) -> str:
    """As in `Asked on 3.14 and 3.14t, with threads, at N = 1 and 2, in 8 blocks of runs …`."""
    frame, study = journal.frame, journal.study
    arms = [arm for arm in study.arms if arm in set(frame["arm"])]
    models = [model for model in MODELS if model in set(frame["model"])]
    ns = [str(n) for n in sorted(set(frame["workers"].tolist()))]
    blocks = formats.plural(int(frame["block"].nunique()), "block")
    told = [
        f"on {formats.listed(arms)}" if arms else "",
        f"with {formats.listed(models)}" if models else "",
        f"at N = {formats.listed(ns)}",
    ]
    return f"Asked {', '.join(filter(None, told))}, in {blocks} of runs in random order."


def _template() -> Template:
    environment = Environment(
        autoescape=True,
        loader=FileSystemLoader(Path(__file__).parent, encoding="utf-8"),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "number": formats.number,
        "bounds": attrgetter("bounds"),
        "verdict": _verdict,
        "is_ours": Markup,  # pictures: made by us, and escaped where they were made
        "date": _date,
    }
    environment.tests["text"] = lambda cell: isinstance(cell, str)
    return environment.get_template("page.html")


def _verdict(cell: Cell) -> str:
    return cell.verdict.word if isinstance(cell, RatioVerdict) and cell.n else ""


def _date(study: StudyLine) -> str:
    return (study.started_at or "")[:10]

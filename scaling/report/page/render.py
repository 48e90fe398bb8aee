"""A study as one HTML page: every part gathered, then put into the template.

The page loads nothing: its style, its pictures and its icon are in it, there is no script, and a
content security policy forbids whatever might be added. The page of a published study stands among
its tables and plots: it shows the files of the plots, and refers to the tables for their figures.
Texts from outside (names, parameters, messages of errors) are escaped by the template engine; only
our own pictures are taken as they are.
"""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from scaling.analysis.results import StudyResults, incomplete
from scaling.analysis.table.groups import slug
from scaling.base import formats
from scaling.base.vocabulary import MODELS
from scaling.journal.protected_write import write_text
from scaling.journal.record import StudyLine
from scaling.report.files import SUMMARY, TABLES
from scaling.report.page.answer import answer_block, loop_blocks, questions_block
from scaling.report.page.facts import (
    again_block,
    law_blocks,
    machine_block,
    noise_block,
    question_block,
    steadiness_block,
    validity_blocks,
)
from scaling.report.page.figures import (
    application_blocks,
    figure_parts,
    load_blocks,
    primitives_blocks,
    stack_blocks,
    sweep_blocks,
)
from scaling.report.page.parts import PageSection, Pictures, in_parts
from scaling.report.plots.draw import loads, subjects
from scaling.report.tables.comparison import warnings_of
from scaling.report.tables.grid import VerdictCell, word_of
from scaling.report.tables.rates import has_open_loop

QUESTION = (
    "If asyncio code runs as N event loops, what {figures} does it get from N threads without the "
    "GIL, compared with the GIL, with N processes and with N sub-interpreters?"
)
QUESTION_OF_SETTINGS = "What does each setting bring to asyncio code on N event loops?"
FIGURES, FIGURES_UNDER_LOAD = "throughput and memory", "throughput, latency and memory"
DRAWN = Pictures()
ALWAYS = ("answer", "question")  # also where they are empty
VERDICTS = (
    "What the study answers besides, at the largest N with a core for each worker. A question that "
    "was not named before the study is marked exploratory."
)
SHIP = (
    "For each aim, threads without the GIL are compared with the processes that are best at it. Of "
    "two that are the same, processes are named: nothing has to be changed for these."
)
LOOPS = "Each loop over asyncio with the same arm, model and N; other runtimes over Python."
SWEEPS = "How the figures change with a parameter that was varied."
LOAD = (
    "What clients of a server saw while requests came at a given rate, however long the answers "
    "took. Latency counts from the time at which a request was due."
)
STACK = (
    "Each stack answers the same requests. Where cores are shared, compare the CPU time of a "
    "request and the order of the stacks, not throughput."
)
VALIDITY = "What was checked of every run, and which runs failed."


def page(results: StudyResults, pictures: Pictures = DRAWN) -> str:
    """The HTML of a study; the same results give the same page.

    One whose plots are beside it refers to the tables there, too, and leaves out the figures behind
    the plots.

    Raises:
        UsageError: the frame holds several studies.
        OSError: a plot is not in the folder of `pictures`.
    """
    study = results.study
    return template().render(
        study=study,
        question=_question(results),
        parts=[
            part for part in _parts(results, pictures) if part.name in ALWAYS or not part.is_empty
        ],
        is_void=results.soundness.status == "void",
        warnings=warnings_of(results),
        skipped=results.notes,
        incomplete=incomplete(results.frame, study, results.notes),
        tables=[TABLES, SUMMARY] if pictures.beside else [],
    )


def _parts(results: StudyResults, pictures: Pictures) -> list[PageSection]:
    """Every part of a page in its order, also those that are empty."""
    answer, found = answer_block(results)
    questions = questions_block(results, found)
    return [
        PageSection("answer", "The answer", [answer]),
        PageSection("application", "Your application", application_blocks(results), SHIP),
        PageSection("verdicts", "Question by question", [questions], VERDICTS),
        PageSection(
            "load", "Latency under load", load_blocks(loads(results), results, pictures), LOAD
        ),
        PageSection("stack", "The full stack", stack_blocks(results, pictures), STACK),
        *figure_parts(subjects(results), pictures),
        PageSection("loops", "The loop", loop_blocks(results), LOOPS),
        PageSection(
            "sweeps",
            "By parameter",
            [*primitives_blocks(results, pictures), *sweep_blocks(results, pictures)],
            SWEEPS,
        ),
        PageSection("laws", "Laws", law_blocks(results)),
        PageSection("question", "What was run", [question_block(results)], _measured(results)),
        PageSection("machine", "The machine and the builds", [machine_block(results.study)]),
        PageSection("noise", "Noise", [noise_block(results)]),
        PageSection("steadiness", "Steadiness and drift", [steadiness_block(results)]),
        PageSection("validity", "Validity", validity_blocks(results), VALIDITY),
        PageSection("again", "How to reproduce it", [again_block(results.study)]),
    ]


def _question(results: StudyResults) -> str:
    """What the study asks, in a sentence."""
    if results.is_of_settings:
        return QUESTION_OF_SETTINGS
    return QUESTION.format(figures=FIGURES_UNDER_LOAD if has_open_loop(results) else FIGURES)


def _measured(results: StudyResults) -> str:
    """As in `Measured on 3.14 and 3.14t, with threads, at N = 1 and 2, in 8 blocks of runs …`."""
    frame, study = results.frame, results.study
    arms = [arm for arm in study.arms if arm in set(frame["arm"])]
    models = [model for model in MODELS if model in set(frame["model"])]
    ns = [str(n) for n in sorted(set(frame["workers"].tolist()))]
    blocks = formats.plural(int(frame["block"].nunique()), "block")
    parts = [
        f"on {formats.listed(arms)}" if arms else "",
        f"with {formats.listed(models)}" if models else "",
        f"at N = {formats.listed(ns)}",
    ]
    made = "Simulated" if study.simulated else "Measured"
    return f"{made} {', '.join(filter(None, parts))}, in {blocks} of runs in random order."


def template(name: str = "page.html") -> Template:
    """What every page is made with: `page.html` or what extends it, and how cells are shown."""
    environment = Environment(
        autoescape=True,
        loader=FileSystemLoader(Path(__file__).parent, encoding="utf-8"),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "number": formats.number,
        "in_parts": in_parts,
        "verdict": word_of,
        "is_ours": Markup,  # pictures: made by us, and escaped where they were made
        "date": _date,
        "slug": slug,
    }
    environment.tests["text"] = lambda cell: isinstance(cell, str)
    environment.tests["verdict"] = lambda cell: isinstance(cell, VerdictCell)
    return environment.get_template(name)


def _date(study: StudyLine) -> str:
    return (study.started_at or "")[:10]


# -------------------------------------------------------------------------------------------- write
# A study on one page.

FILE_NAME = "report.html"


def write_page(results: StudyResults, file: Path, pictures: Pictures = DRAWN) -> None:
    """Write the page.

    Raises `ScalingError` if it cannot be written, `OSError` if a plot is not in the folder of
    `pictures`.
    """
    write_text(file, page(results, pictures), again="scaling report")

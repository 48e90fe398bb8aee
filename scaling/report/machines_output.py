"""What is printed and written of a study on several machines."""

from pathlib import Path

from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.base.console import new_console, say
from scaling.base.errors import ScalingError
from scaling.base.formats import listed
from scaling.journal.hosts import folders_of, read_hosts
from scaling.journal.protected_write import write_file
from scaling.report.output import answered, without_figure
from scaling.report.reading import read
from scaling.report.tables.machines_view import machines_chapters
from scaling.report.tables.markdown import chapters_markdown
from scaling.report.tables.terminal import Chapters

FILE_NAME = "machines.md"
PAGE = "report.html"
AGAIN = "scaling compare"


def finish_several(folder: Path, console: Console) -> None:
    """End a run on several machines: write each one's files beside its journal, then compare them.

    Raises:
        ScalingError: a machine has no valid run of a workload, or something cannot be written.
    """
    from scaling.report.page.machines import machines_page

    quiet = new_console(quiet=True)
    machines, lacking = {}, []
    for each in folders_of(folder):
        results = StudyResults.of(read(each, console))
        if without := without_figure(results):
            say(console, f"{each.name}: {without}; see {each}")
            lacking.append(each.name)
        if not results.frame["valid"].any():
            continue
        answered(each, quiet)
        machines[each.name] = results
    if not machines:
        raise ScalingError(f"no host has a valid run in {folder}, so there is no figure")
    known = read_hosts(folder)
    found = machines_chapters(machines, known.hosts if known else {})
    console.print(Chapters(found))
    text = chapters_markdown(found) + "\n"
    file = folder / FILE_NAME
    write_file(file, lambda unfinished: unfinished.write_text(text, encoding="utf-8"), AGAIN)
    html = machines_page(machines, known.hosts if known else {})
    page = folder / PAGE
    write_file(page, lambda unfinished: unfinished.write_text(html, encoding="utf-8"), AGAIN)
    say(console, f"page:   {page}\ntables: {file}; each machine has a folder of its own")
    if lacking:
        raise ScalingError(f"on {listed(lacking)} no run of a workload is valid; see above")

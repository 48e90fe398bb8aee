"""What the check of an application found, one finding after the other."""

from collections.abc import Iterator

from scaling.journal.beside import AppCheck
from scaling.report.tables.app_check import check_sentence


def finding_lines(found: AppCheck) -> Iterator[str]:
    """What goes wrong, in which request, and what to do; a line if nothing does."""
    yield check_sentence(found)
    for each in found.findings:
        request = f" ({each.request})" if each.request else ""
        yield f"  {each.kind}{request}: {each.message}"
        yield f"    {each.remedy}"

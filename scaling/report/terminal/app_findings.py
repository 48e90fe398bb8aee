"""What the check of an application found, one finding after the other."""

from collections.abc import Iterator

from scaling.analysis.safety.finding import AppCheck
from scaling.base.formats import plural

SOUND = "check: its answers are the same on several loops as on one"


def finding_lines(found: AppCheck) -> Iterator[str]:
    """What goes wrong, in which request, and what to do; a line if nothing does."""
    if found.ok:
        yield SOUND
        return
    count = plural(len(found.findings), "finding")
    yield f"check: {count} on several loops in threads"
    for each in found.findings:
        request = f" ({each.request})" if each.request else ""
        yield f"  {each.kind}{request}: {each.message}"
        yield f"    {each.remedy}"

"""Warnings that belong to every figure of a study: every output begins with them."""

from scaling.journal.record import StudyLine
from scaling.study.scaled import scaled_to

SIMULATED = "Simulated: nothing was measured, every figure follows from a law with noise"


def caveats(study: StudyLine) -> list[str]:
    """That it is simulated, that its amounts are scaled; none for most studies."""
    return [*([SIMULATED] if study.simulated else []), *filter(None, [scaled_to(study.study)])]

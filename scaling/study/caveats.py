"""What no figure of a study must be seen without: every output has it at its top."""

from scaling.journal.record import StudyLine
from scaling.study.scaled import scaled_to

SIMULATED = "Simulated: nothing was measured, every figure follows from a law with noise"


def caveats(study: StudyLine) -> list[str]:
    """That it is simulated, that its amounts are scaled; mostly none."""
    return [*([SIMULATED] if study.simulated else []), *filter(None, [scaled_to(study.study)])]

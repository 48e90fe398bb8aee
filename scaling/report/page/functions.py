"""Which functions cost more at N than at N = 1, of every cell that was profiled."""

from scaling.analysis.results import StudyResults
from scaling.journal.profile import read_profiles
from scaling.report.page.parts import Block
from scaling.report.tables.functions import facts, function_grids


def function_blocks(results: StudyResults) -> list[Block]:
    """A block for each profile beside the journal."""
    profiles = read_profiles(results.path.parent) if results.path else []
    return [
        Block(
            each.text, [f"{'; '.join(facts(each))}."], folded=function_grids(each), notes=each.notes
        )
        for each in profiles
    ]

"""Your own application: what to ship, in full."""

from scaling.analysis.results import StudyResults
from scaling.report.page.parts import Block
from scaling.report.tables.application import application_grids


def application_block(results: StudyResults) -> Block:
    """The tables; empty for a study of anything else."""
    return Block(grids=list(application_grids(results)))

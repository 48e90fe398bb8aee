"""Your own application: what to ship, in full."""

from scaling.analysis.results import StudyResults
from scaling.journal.faults import read_faults
from scaling.report.deploy.commands import deploy_grids
from scaling.report.page.parts import Block
from scaling.report.tables.application import application_grids
from scaling.report.tables.faults import faults_grid


def application_block(results: StudyResults) -> Block:
    """The tables; empty for a study of anything else."""
    faults = read_faults(results.path.parent) if results.path else []
    shown = [faults_grid(faults)] if faults else []
    return Block(grids=[*application_grids(results), *deploy_grids(results), *shown])

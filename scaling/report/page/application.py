"""Your own application: what to ship, in full."""

from scaling.analysis.results import StudyResults
from scaling.journal.beside import read_check, read_faults, read_soak
from scaling.report.deploy.commands import deploy_grids
from scaling.report.page.parts import Block
from scaling.report.tables.app_check import check_grids, check_sentence
from scaling.report.tables.application import application_grids
from scaling.report.tables.faults import faults_grid
from scaling.report.tables.soak import soak_grid


def application_block(results: StudyResults) -> Block:
    """The tables; empty for a study of anything else."""
    tables = [*application_grids(results), *deploy_grids(results)]
    if results.path is None:
        return Block(grids=tables)
    folder = results.path.parent
    check = read_check(folder)
    tables += check_grids(check)
    if faults := read_faults(folder):
        tables.append(faults_grid(faults))
    if soaked := read_soak(folder):
        tables.append(soak_grid(soaked))
    return Block(words=[check_sentence(check)] if check else [], grids=tables)

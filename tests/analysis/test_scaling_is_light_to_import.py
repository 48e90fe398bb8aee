"""`import scaling` costs nothing: what needs pandas is imported when it is first used."""

import re
import subprocess
import sys

import pytest

import scaling
from scaling.base.errors import ScalingError, UsageError
from tests.support.children import ROOT

IMPORTS = """
import sys
import scaling, scaling.builds.interpreters, scaling.builds.environments
assert not {'pandas', 'numpy', 'rich', 'urllib.request'} & set(sys.modules)
import scaling.cli
assert not {'scaling.journal.record', 'pandas'} & set(sys.modules)
import scaling.run.measure, scaling.analysis.tables.study
import scaling.report.output, scaling.report.compare
assert not {'scipy.stats', 'matplotlib'} & set(sys.modules)
import scaling.report.view.plots
assert not {'scipy.stats', 'seaborn'} & set(sys.modules)
"""


@pytest.mark.slow
def test_help_waits_for_no_pandas_tables_for_no_plots_and_the_page_for_no_seaborn() -> None:
    subprocess.run([sys.executable, "-c", IMPORTS], check=True, cwd=ROOT)


def test_every_public_name_is_there_and_nothing_else() -> None:
    for name in scaling.__all__:
        assert getattr(scaling, name) is not None
        assert name in dir(scaling)
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        scaling.lode  # noqa: B018
    assert re.fullmatch(r"\d+\.\d+\.\d+", scaling.__version__)
    assert (ScalingError.exit_code, UsageError.exit_code) == (1, 2)  # of wrong use another one

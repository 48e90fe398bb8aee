"""Plots have seaborn's palette and style, written out: importing it takes longer than drawing."""

import seaborn as sns
from matplotlib.colors import to_hex

from scaling.report.render.style import COLORBLIND, RC


def test_the_palette_is_its_colorblind() -> None:
    assert list(COLORBLIND) == sns.color_palette("colorblind").as_hex()


def test_patches_have_the_edges_of_its_style_ticks() -> None:
    style = sns.axes_style("ticks")
    assert to_hex(RC["patch.edgecolor"]) == to_hex(style["patch.edgecolor"])
    for name in ("patch.force_edgecolor", "axes.axisbelow", "lines.solid_capstyle"):
        assert RC[name] == style[name]

"""A share is a percentage as long as that says something; far from it, it is a factor."""

import pytest

from scaling.base.formats import spread


@pytest.mark.parametrize(
    ("shares", "text"),
    [
        ([0.0314], "±3.14 %"),
        ([0.12, 0.0314], "±3.14 % to 12 %"),
        ([0.996], "±99.6 %"),
        ([1.0], "a factor of 2.0"),
        ([2.5], "a factor of 3.5"),
        ([2.5, 0.4], "±40 % to a factor of 3.5"),
        ([2.5, 1.1, 1.4], "a factor of 2.1 to 3.5"),
        ([2.51, 2.49], "a factor of 3.5"),
        ([1499.0], "a factor of 1,500"),
    ],
)
def test_how_far_equal_figures_are_apart(shares: list[float], text: str) -> None:
    assert spread(shares) == text
    assert spread(iter(shares)) == text

"""Figures have three digits that count; a share is a percentage as long as that says something."""

import math

from scaling.base.formats import number, span, spread

NUMBERS = {
    65_312.0: "65,300",
    0.0123456: "0.0123",
    0.99999: "1.00",
    -2.5: "-2.50",
    0.0: "0",
    1.5e-6: "1.50e-06",
    math.nan: "–",
}
SPREADS = {
    (0.0314,): "±3.14 %",
    (0.12, 0.0314): "±3.14 % to 12 %",
    (1.0,): "a factor of 2.0",
    (2.5, 0.4): "±40 % to a factor of 3.5",
    (2.5, 1.1, 1.4): "a factor of 2.1 to 3.5",
    (2.51, 2.49): "a factor of 3.5",
    (1499.0,): "a factor of 1,500",
}


def test_numbers_have_three_digits_that_count_and_shares_are_per_cent_up_to_one() -> None:
    assert [*map(number, NUMBERS)] == [*NUMBERS.values()]
    assert {shares: spread(iter(shares)) for shares in SPREADS} == SPREADS


def test_bounds_below_zero_are_not_joined_with_a_dash() -> None:
    assert span(number(0.00765), number(0.0215)) == "0.00765–0.0215"
    assert span(number(-0.0215), number(-0.00765)) == "-0.0215 to -0.00765"

"""Analysis of journals: validity, estimates with their intervals, ratios with their words."""

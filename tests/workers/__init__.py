"""Tests of `workers`: they run on both builds."""

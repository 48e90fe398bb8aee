"""Tests of `scaling`: they run on one build."""

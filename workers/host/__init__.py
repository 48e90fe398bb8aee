"""The host of N workers: one model, one schedule, one record."""

"""The host: N workers under one model, one schedule, one record."""

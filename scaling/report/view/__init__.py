"""What is shown of a study, declared: tables, plots and notes over its tables."""

"""Views of a study, declared over its five tables: tables, plots, notes."""

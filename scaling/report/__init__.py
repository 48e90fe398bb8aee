"""Reports of results: tables, plots, page, terminal, exports, published folders."""

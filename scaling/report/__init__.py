"""How results are shown: tables, plots, page, terminal, exports, published folders."""

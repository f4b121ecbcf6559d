"""Expressions as plain data, and the functions that read them."""

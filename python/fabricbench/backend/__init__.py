"""Backends: what carries a run out and returns its record."""

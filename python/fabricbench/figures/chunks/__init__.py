"""Figures of what happened to data chunks and their frames."""

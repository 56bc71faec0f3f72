"""Figures of data chunks and their frames."""

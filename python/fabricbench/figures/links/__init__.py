"""Figures of the links of a fabric: map, matrix and summary of their use, load of uplinks."""

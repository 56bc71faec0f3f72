"""Figures of the links of a fabric."""

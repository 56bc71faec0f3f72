"""Figures of what was sampled while a trial ran."""

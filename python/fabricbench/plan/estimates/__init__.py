"""Estimates before a run: memory and time, error of the flow model, traffic across rails."""

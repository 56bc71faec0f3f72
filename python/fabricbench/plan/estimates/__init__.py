"""Estimates before a run: memory and time, error of the flow model, traffic that leaves its rail."""

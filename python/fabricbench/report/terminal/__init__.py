"""Trials as text for people: the table of a run, one trial in full, a list of trials, a comparison."""

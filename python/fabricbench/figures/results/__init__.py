"""Figures of the results of several trials or jobs."""

"""Metrics of each job of a trial, simulated or measured, and results at its observation points."""

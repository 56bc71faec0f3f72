"""Computes the metrics of each job of a trial, simulated or measured, and KPIs at its observation points."""

"""Campaigns: run the trials of a family of plans independently, on the cores of a machine or a cluster."""

"""Campaigns: families of plans as independent trials, spread over the cores of a machine or of a cluster."""

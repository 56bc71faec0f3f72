"""Campaigns: families of plans run as independent trials on the cores of a machine or a cluster."""

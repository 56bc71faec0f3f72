"""Prepares results of stored trials for reports: jobs with their comparisons, labels, hosts, run outcomes."""

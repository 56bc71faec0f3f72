"""Readers of counters of switches and hosts from files; `reading.read` detects the file format.

Only differences are computed here. The meaning of each counter, by its vendor, is in `fabricbench.counters`.
"""

"""Reads a trial's data for analysis: tables of its record, facts of its RunSpec, sums of chunks and samples.

A chunk is the part of a collective's data that one rank sends to another in one transfer. The RunSpec has the
parameters of one trial for the backends.
"""

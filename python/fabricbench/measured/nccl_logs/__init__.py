"""Parsers of NCCL's own outputs about a run: debug log, RAS reports, records of the Inspector plugin."""

"""Parsers of what NCCL reports about a run: its debug log, RAS reports, and the Inspector plugin."""

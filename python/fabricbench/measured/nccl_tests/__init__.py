"""Parsers of results of nccl-tests and rccl-tests: text, JSON, records; collective, bandwidth check."""

"""Backends: run trials and return their records."""

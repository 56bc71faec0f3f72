"""Sections of the report page, each built from the results of a run."""

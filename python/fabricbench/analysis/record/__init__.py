"""Data of a trial as input of analysis: record tables, facts of its RunSpec, sums of chunks and samples."""

"""The record of a trial: Parquet tables in a folder or at a URL, written, checked, moved and read."""

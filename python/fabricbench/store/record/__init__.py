"""The record of a trial, its result tables in Parquet: writes, checks, moves and reads them."""

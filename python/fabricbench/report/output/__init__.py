"""Results in formats of other programs: JSON, CSV, Parquet, data frames, traces, captures, notebooks."""

"""Parsers of the output of benchmarks on real fabrics, one file for each format, and rules for `explain`.

`reading.read` takes the bytes of a file and returns its tests with their rows, or one error that names the
line. It computes nothing: meanings and units of columns are documented in the file of their format, and the
metrics are those of `fabricbench.analysis`.
"""

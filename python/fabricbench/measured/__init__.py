"""Parsers of the output of benchmarks on real fabrics, one file per format; rules about low bandwidth.

`reading.read` takes the bytes of a file and returns its tests with their rows, or one error that names the
line. It computes nothing: meanings and units of columns are documented in the file of their format, and the
metrics are those of `fabricbench.analysis`. The rules (`causes`) serve `fabricbench explain FILE`, which
names likely causes of low bandwidth.
"""

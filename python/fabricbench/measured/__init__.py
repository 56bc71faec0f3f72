"""What benchmarks on real fabrics print, read into tests and their rows; one file for each format.

`reading.read` takes the bytes of a file and gives its tests, or one error that names the line. It computes
nothing: what a column means and which unit it has stands in the file of its format, and the metrics are those
of `fabricbench.analysis`.
"""

"""What switches counted, read from files that people keep; `reading.read` finds the form of a file.

Nothing is computed here but differences. What a counter counts its vendor says (`fabricbench.counters`).
"""

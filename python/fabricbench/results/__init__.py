"""Comparison of jobs with the same job alone, the reference variant, published results and repeats."""

"""Text of a measured file: numbered lines, prefixes, origins, JSON fields, intervals of printed numbers."""

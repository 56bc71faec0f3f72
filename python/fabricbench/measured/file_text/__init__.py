"""Text of a measured file: numbered lines, prefixes of launchers, hosts, JSON fields, rounded numbers."""

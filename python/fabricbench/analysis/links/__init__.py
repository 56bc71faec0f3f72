"""Links and ports of a fabric: use by jobs, uplinks, utilisation, shared paths, and the port map."""

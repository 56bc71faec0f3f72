"""Reports about several runs: suites, campaigns, expected values, remedies tried, published tables."""

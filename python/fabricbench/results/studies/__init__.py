"""Results of many trials together: campaigns, sweeps, suites, calibrations, and expected values."""

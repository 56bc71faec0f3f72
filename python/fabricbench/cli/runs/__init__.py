"""Commands that run many trials: `run`, `suite`, `tune` and `campaign`."""

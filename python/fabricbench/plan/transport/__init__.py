"""The RoCEv2 transport of a plan: `model`, `check`, and the rate controls, `rate_control` with `dcqcn`."""

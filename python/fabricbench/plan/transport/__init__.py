"""The RoCEv2 transport of a plan: `model`, `check`, and the rate controls `dcqcn`, `swift` and `timely`."""

"""The RoCEv2 transport of a plan: `model` is all of it, `dcqcn` its rate control."""

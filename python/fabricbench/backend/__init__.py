"""Backends run trials: packet simulator, flow model, or real hosts; they pass on rows of result tables."""

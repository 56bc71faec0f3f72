"""What factors do to a value: effects with confidence, and shares of the variance, of cells with repeats."""

"""The jobs of trials beside each other: alone, of the reference variant, published, over the iterations."""

"""One module for each drawing: tables or summaries in, a `Plot` out, or None when nothing is to be drawn."""

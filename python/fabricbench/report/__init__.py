"""Reports of trials: terminal tables, HTML pages, JSON, CSV, data frames, notebooks and captures."""

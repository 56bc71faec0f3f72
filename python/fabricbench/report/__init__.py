"""Terminal tables, HTML, JSON, CSV and captures."""

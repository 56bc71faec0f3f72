"""Commands about trials and measured results: `show`, `trials`, `explain`, `report` and others."""

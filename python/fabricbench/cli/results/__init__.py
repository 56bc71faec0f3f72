"""Commands about trials and measured results: `show`, `explain`, `compare`, `report`, `export`, `import`."""

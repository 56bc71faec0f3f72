"""Commands about the installation and workspaces: `config`, `doctor`, `serve` and `workspace`."""

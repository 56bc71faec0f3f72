"""Content of reports about trials for terminal, page and programs: tables, columns, captions, notes."""

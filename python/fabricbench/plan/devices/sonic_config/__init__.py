"""Conversion of SONiC's configuration (`config_db.json` or a dump of CONFIG_DB) to fields of a plan."""

-- Version of a backend's results, part of a trial's id; earlier ids contain the engine's version instead.
ALTER TABLE trials ADD COLUMN backend_version TEXT DEFAULT '' NOT NULL;
UPDATE trials SET backend_version = engine_version;

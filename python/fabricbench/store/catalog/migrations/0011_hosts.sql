-- Backend of a queued run, and its hosts as JSON, null for a backend that needs none.
ALTER TABLE runs ADD COLUMN backend TEXT DEFAULT '' NOT NULL;
ALTER TABLE runs ADD COLUMN hosts TEXT;

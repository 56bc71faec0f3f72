-- Acceptance criteria of each trial; earlier trials had none.
ALTER TABLE trials ADD COLUMN criteria TEXT DEFAULT '[]' NOT NULL;

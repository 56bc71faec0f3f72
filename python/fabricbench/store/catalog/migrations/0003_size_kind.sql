-- Kind of the size of each trial, `data` or `message`; earlier trials had data sizes.
ALTER TABLE trials ADD COLUMN size_kind TEXT DEFAULT 'data' NOT NULL;

-- Values of swept fields, as JSON; earlier plans swept sizes only.
ALTER TABLE trials ADD COLUMN axes TEXT DEFAULT '[]' NOT NULL;
ALTER TABLE memberships ADD COLUMN axes TEXT DEFAULT '[]' NOT NULL;

-- Digests of the tables of each record, as JSON; earlier records have none.
ALTER TABLE trials ADD COLUMN digests TEXT;

-- URL of a record; null for a record in the folder of the workspace, as all earlier ones.
ALTER TABLE trials ADD COLUMN tables TEXT;

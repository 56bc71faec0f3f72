-- The variant that the others of a plan are compared with; earlier trials had no variants.
ALTER TABLE trials ADD COLUMN reference TEXT;

-- Tables of each record, where they were observed, and columns that were not measured, as JSON.
-- Earlier records were imported, without rows, or are those of the simulator.
ALTER TABLE trials ADD COLUMN observed TEXT DEFAULT '{}' NOT NULL;
UPDATE trials SET observed = '{"chunks":{"at":"endpoint","unmeasured":[]},"connections":{"at":"endpoint","unmeasured":[]},"events":{"at":"fabric","unmeasured":[]},"links":{"at":"fabric","unmeasured":[]},"paths":{"at":"fabric","unmeasured":[]},"ports":{"at":"fabric","unmeasured":[]},"priorities":{"at":"fabric","unmeasured":[]},"reordering":{"at":"endpoint","unmeasured":[]},"series":{"at":"fabric","unmeasured":[]}}'
WHERE backend <> 'imported';

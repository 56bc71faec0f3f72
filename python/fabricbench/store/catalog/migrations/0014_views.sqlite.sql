-- The columns of lists, so that they do not read the long texts of each row, which PostgreSQL stores
-- separately anyway.
CREATE INDEX trials_listed ON trials
    (started_at, ended_at, suite, status, attempt, id, plan, variant, backend, data_size_bytes, tag);

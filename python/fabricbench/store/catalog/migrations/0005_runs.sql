-- Queued runs, tags that users give to trials, and trials that were deleted and can be restored.
CREATE TABLE runs (
    number SERIAL NOT NULL,
    id VARCHAR(12) NOT NULL,
    state VARCHAR(16) NOT NULL,
    plan TEXT NOT NULL,
    title TEXT NOT NULL,
    plan_source TEXT NOT NULL,
    options TEXT NOT NULL,
    trials TEXT NOT NULL,
    owner TEXT NOT NULL,
    message TEXT NOT NULL,
    cancel_requested INTEGER NOT NULL,
    created_at VARCHAR(32) NOT NULL,
    queued_at VARCHAR(32) NOT NULL,
    started_at VARCHAR(32),
    ended_at VARCHAR(32),
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    process_start TEXT NOT NULL,
    PRIMARY KEY (number)
);
CREATE UNIQUE INDEX runs_by_id ON runs (id);
CREATE INDEX runs_by_state ON runs (state);
CREATE TABLE tags (
    trial_id VARCHAR(12) NOT NULL,
    tag VARCHAR(64) NOT NULL,
    PRIMARY KEY (trial_id, tag)
);
CREATE TABLE trash (
    attempt INTEGER NOT NULL,
    trial_id VARCHAR(12) NOT NULL,
    deleted_at VARCHAR(32) NOT NULL,
    PRIMARY KEY (attempt)
);

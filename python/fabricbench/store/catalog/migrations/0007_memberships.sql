-- Earlier runs of a trial, before the one in its row in `trials`; the last is the newest.
CREATE TABLE memberships (
    number SERIAL NOT NULL,
    trial_id VARCHAR(12) NOT NULL,
    placed_at VARCHAR(32),
    plan TEXT NOT NULL,
    title TEXT NOT NULL,
    plan_source TEXT NOT NULL,
    overrides TEXT NOT NULL,
    suite VARCHAR(12) NOT NULL,
    position INTEGER NOT NULL,
    variant TEXT NOT NULL,
    reference TEXT,
    iteration INTEGER NOT NULL,
    data_size_bytes BIGINT NOT NULL,
    tag TEXT NOT NULL,
    published TEXT,
    criteria TEXT NOT NULL,
    size_kind TEXT NOT NULL,
    PRIMARY KEY (number)
);
CREATE UNIQUE INDEX one_membership_per_suite ON memberships (trial_id, suite);

-- Metrics of each job of a finished trial, copied from its results to sort lists; and digests that show
-- whether two finished trials have the same run spec and results, with the number of runs and of changes.
-- migrate.py fills both from the finished trials.
CREATE TABLE trial_metrics (
    attempt INTEGER NOT NULL,
    metric VARCHAR(64) NOT NULL,
    job TEXT NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (attempt, metric, job)
);
CREATE TABLE outcomes (
    attempt INTEGER NOT NULL,
    spec VARCHAR(12) NOT NULL,
    results VARCHAR(12) NOT NULL,
    times INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    PRIMARY KEY (attempt)
);
CREATE INDEX outcomes_by_spec ON outcomes (spec);
CREATE INDEX trials_by_suite ON trials (suite, started_at, ended_at, status, attempt, id);

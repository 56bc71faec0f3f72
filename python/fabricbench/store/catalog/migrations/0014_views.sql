-- Saved lists of trials: the parameters of each, as in the server's API, in JSON.
CREATE TABLE views (
    name VARCHAR(64) NOT NULL,
    asked TEXT NOT NULL,
    saved_at VARCHAR(32) NOT NULL,
    PRIMARY KEY (name)
);

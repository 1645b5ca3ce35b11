-- One row for each run that published a release, or failed after it began to read. Times are UTC.
CREATE TABLE IF NOT EXISTS sqlanon_run (
    run TEXT NOT NULL,               -- twelve hexadecimal digits; also in the tag of each statement
    command TEXT,                    -- run, or apply
    outcome TEXT,                    -- published, or failed: then there is nothing from source_rows to satisfied
    failure TEXT,                    -- the kind of error that ended it
    spec_hash TEXT,                  -- of all that decides the release
    recipient TEXT,                  -- whose release it is, where the spec has recipients
    source TEXT,                     -- a table, a file, or the hash of a query
    target TEXT,
    engine TEXT,
    engine_version TEXT,
    sqlanon_version TEXT,
    python_version TEXT,
    started_utc TIMESTAMP,
    finished_utc TIMESTAMP,
    source_rows BIGINT,
    suppressed_rows BIGINT,
    blanked_rows BIGINT,             -- suppressed rows that were released without their quasi-identifier
    released_rows BIGINT,
    classes BIGINT,
    smallest_class BIGINT,           -- the k that the audit measured before the release was put in place
    satisfied BOOLEAN,
    evidence TEXT                    -- all of it as JSON, but for the statements
);

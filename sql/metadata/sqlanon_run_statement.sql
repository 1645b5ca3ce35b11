-- The statements of a run in their order, without their text.
CREATE TABLE IF NOT EXISTS sqlanon_run_statement (
    run TEXT NOT NULL,
    place INT,
    step TEXT,
    seconds DOUBLE PRECISION,
    row_count BIGINT,                -- rows touched or returned; NULL where the engine does not tell
    failed BOOLEAN
);

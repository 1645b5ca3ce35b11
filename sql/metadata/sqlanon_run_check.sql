-- What the audit of a release asked, and what it measured.
CREATE TABLE IF NOT EXISTS sqlanon_run_check (
    run TEXT NOT NULL,
    place INT,
    model TEXT,                      -- k, l_diversity, t_closeness, ...
    column_name TEXT,                -- the sensitive column, where the model has one
    required TEXT,
    measured DOUBLE PRECISION,       -- the worst of all classes; NULL where it has no bound
    classes_at_risk BIGINT,
    rows_at_risk BIGINT,
    satisfied BOOLEAN
);

-- The generalization that a run published: a level for each column of the quasi-identifier.
CREATE TABLE IF NOT EXISTS sqlanon_run_level (
    run TEXT NOT NULL,
    place INT,                       -- in the distance vector, from 0
    column_name TEXT,
    level INT,                       -- 0: the value itself
    height INT                       -- the highest level of the column's hierarchy
);

-- Every class of the columns has at least l distinct values of the sensitive column; NULL is one of them.
-- A table without rows fails.
AUDIT (
  name l_diversity,
  defaults (l = 2)
);

SELECT diversity
FROM (
  SELECT COUNT(DISTINCT @sensitive) + MAX(CASE WHEN @sensitive IS NULL THEN 1 ELSE 0 END) AS diversity
  FROM @this_model
  GROUP BY @EACH(@columns, name -> name)
) AS classes
WHERE diversity < @l
UNION ALL
SELECT 0 AS diversity
WHERE NOT EXISTS (SELECT 1 FROM @this_model);

-- Every class of the columns has at least k rows; NULL is a value like any other. A table without rows fails.
-- With `respondent`, a column, each class has at least k distinct persons; rows without one are one person.
AUDIT (
  name k_anonymity,
  defaults (k = 5, respondent = NULL)
);

SELECT people
FROM (
  SELECT
    @IF(
      @respondent IS NULL,
      COUNT(*),
      COUNT(DISTINCT @respondent) + MAX(CASE WHEN @respondent IS NULL THEN 1 ELSE 0 END)
    ) AS people
  FROM @this_model
  GROUP BY @EACH(@columns, name -> name)
) AS classes
WHERE people < @k
UNION ALL
SELECT 0 AS people
WHERE NOT EXISTS (SELECT 1 FROM @this_model);

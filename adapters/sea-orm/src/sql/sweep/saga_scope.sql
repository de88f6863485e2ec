-- The next kind of saga.
SELECT s.scope
  FROM claimstream_saga s
 WHERE s.scope > {text :scope}
 ORDER BY s.scope
 LIMIT 1

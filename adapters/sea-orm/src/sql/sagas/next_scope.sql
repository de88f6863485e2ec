-- The next kind of saga.
SELECT s.scope
  FROM claimstream_saga s
 WHERE s.scope > {text :scope}
   {and_text s.scope}
 ORDER BY s.scope
 LIMIT 1

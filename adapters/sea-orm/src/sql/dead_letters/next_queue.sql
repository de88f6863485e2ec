-- The next queue that has a dead letter.
SELECT queue
  FROM claimstream_dead
 WHERE queue > {text :after}
   {and_text queue}
 ORDER BY queue
 LIMIT 1

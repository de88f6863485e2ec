-- The next queue that has a dead letter.
SELECT queue
  FROM claimstream_dead
 WHERE queue > :after
 ORDER BY queue
 LIMIT 1

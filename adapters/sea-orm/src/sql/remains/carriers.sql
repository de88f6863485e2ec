-- The messages that are in a queue, or were given up there.
SELECT id
  FROM claimstream_queue
 WHERE queue = :queue
 UNION ALL
SELECT id
  FROM claimstream_dead
 WHERE queue = :queue

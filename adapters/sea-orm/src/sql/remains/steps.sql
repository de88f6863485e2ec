-- The steps of fan-outs that are in a queue, or were given up there.
SELECT b.payload
  FROM claimstream_queue q
  {then_join} claimstream_message b {by_primary} ON b.id = q.id
 WHERE q.queue = :queue
 UNION ALL
SELECT d.payload
  FROM claimstream_dead d
 WHERE d.queue = :queue

-- The fan-outs that may still come for requests that have failed, which are kept: dead letters, and what was revived and waits.
SELECT payload
  FROM claimstream_dead
 WHERE queue IN (:queues)
UNION ALL
SELECT m.payload
  FROM claimstream_queue q
  JOIN claimstream_message m ON m.id = q.id
 WHERE q.queue IN (:queues)
   AND m.first_at IS NOT NULL
 LIMIT :limit

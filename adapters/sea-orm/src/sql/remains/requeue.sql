-- Makes messages claimable whose bodies are there, unless they are in their queues or among its dead letters.
INSERT INTO claimstream_queue (queue, shard, available_at, id)
SELECT b.queue, b.shard, {now}, b.id
  FROM claimstream_message b
  LEFT JOIN claimstream_queue q ON q.queue = b.queue AND q.shard = b.shard AND q.id = b.id
  LEFT JOIN claimstream_dead d ON d.id = b.id
 WHERE b.id IN (:ids)
   AND q.id IS NULL
   AND d.id IS NULL

-- The ordering keys of which a shard has a message, waiting or in hand.
SELECT DISTINCT m.ordering_key
  FROM claimstream_queue q
  JOIN claimstream_message m ON m.id = q.id
 WHERE q.queue = :queue
   AND q.shard = :shard
   AND m.ordering_key IS NOT NULL

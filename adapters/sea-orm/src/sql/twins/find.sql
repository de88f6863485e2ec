-- Messages that have two due entries in one shard; takes no lock.
SELECT id
  FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at <= {now}
 GROUP BY id
HAVING COUNT(*) > 1
 LIMIT :limit

-- Which messages of a claim still stand, and whether they are its own; those that were done or given up are not there.
SELECT id, (claim_id <=> :claim) AS ours
  FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND
   AND id IN (:ids)

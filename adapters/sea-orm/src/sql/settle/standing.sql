-- Which messages of a claim still stand, and whether they are its own; those that were done or given up are not there.
SELECT id, (claim_id {is} :claim) AS ours
  FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at >= {moment :lease_end}
   AND id IN (:ids)

-- How many messages of some queues are claimed by a mark in their rows, which shard_lease never makes.
SELECT COUNT(*) AS claimed
  FROM claimstream_queue
 WHERE queue IN (:queues)
   AND claim_id IS NOT NULL
   AND available_at > {now}

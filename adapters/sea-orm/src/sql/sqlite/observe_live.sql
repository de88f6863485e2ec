-- How every shard of every queue stands.
SELECT queue, shard,
       COUNT(*)                                          AS depth,
       SUM(available_at <= :now)                         AS due,
       SUM(claim_id IS NOT NULL AND available_at > :now) AS leased,
       :now - MIN(available_at)                          AS oldest
  FROM claimstream_queue
 GROUP BY queue, shard

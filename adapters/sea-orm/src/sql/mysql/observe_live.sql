-- How every shard of every queue stands.
SELECT queue, CAST(shard AS SIGNED) AS shard,
       COUNT(*)                                                                      AS depth,
       CAST(SUM(available_at <= UTC_TIMESTAMP(6)) AS SIGNED)                         AS due,
       CAST(SUM(claim_id IS NOT NULL AND available_at > UTC_TIMESTAMP(6)) AS SIGNED) AS leased,
       TIMESTAMPDIFF(MICROSECOND, MIN(available_at), UTC_TIMESTAMP(6))               AS oldest
  FROM claimstream_queue
 GROUP BY queue, shard

-- How every shard of every queue stands. What waits in its place for a retry is neither due nor leased.
SELECT queue, CAST(shard AS SIGNED) AS shard,
       COUNT(*)                                                                      AS depth,
       CAST(SUM(available_at <= UTC_TIMESTAMP(6)
                AND COALESCE(parked_until <= UTC_TIMESTAMP(6), 1)) AS SIGNED)        AS due,
       CAST(SUM(claim_id IS NOT NULL AND available_at > UTC_TIMESTAMP(6)) AS SIGNED) AS leased,
       TIMESTAMPDIFF(MICROSECOND,
                     MIN(CASE WHEN COALESCE(parked_until <= UTC_TIMESTAMP(6), 1) THEN GREATEST(available_at, COALESCE(parked_until, available_at)) END),
                     UTC_TIMESTAMP(6))                                               AS oldest
  FROM claimstream_queue
 GROUP BY queue, shard

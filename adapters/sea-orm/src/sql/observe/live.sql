-- How every shard of every queue stands. What waits in its place for a retry is neither due nor leased.
SELECT queue, {signed shard} AS shard,
       COUNT(*) AS depth,
       {signed SUM(available_at <= {now} AND COALESCE(parked_until <= {now}, 1))} AS due,
       {signed SUM(claim_id IS NOT NULL AND available_at > {now})} AS leased,
       {signed SUM(attempts > 0 AND ((available_at > {now} AND claim_id IS NULL) OR (available_at <= {now} AND COALESCE(parked_until > {now}, 0))))} AS retrying,
       {since MIN(CASE WHEN COALESCE(parked_until <= {now}, 1) THEN {greatest}(available_at, COALESCE(parked_until, available_at)) END)} AS oldest
  FROM claimstream_queue
 GROUP BY queue, shard

-- How every shard of every queue stands. What waits in its place for a retry is neither due nor leased, and neither is what no claim
-- can read.
SELECT q.queue AS queue, {signed q.shard} AS shard,
       COUNT(*) AS depth,
       {signed SUM(q.available_at <= {now} AND COALESCE(q.parked_until <= {now}, 1) AND NOT {unreadable q})} AS due,
       {signed SUM(q.claim_id IS NOT NULL AND q.available_at > {now})} AS leased,
       {signed SUM(q.attempts > 0 AND ((q.available_at > {now} AND q.claim_id IS NULL) OR (q.available_at <= {now} AND COALESCE(q.parked_until > {now}, 0))))} AS retrying,
       {since MIN(CASE WHEN COALESCE(q.parked_until <= {now}, 1) AND NOT {unreadable q} THEN {greatest}(q.available_at, COALESCE(q.parked_until, q.available_at)) END)} AS oldest,
       {signed SUM({unreadable q})} AS unreadable
  FROM claimstream_queue q
 GROUP BY q.queue, q.shard

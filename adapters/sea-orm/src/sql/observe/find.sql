-- How some messages of a shard stand, if they are among the first ones that come due from a moment on.
SELECT q.id, q.attempts, q.last_error, q.claim_id IS NOT NULL AS claimed, i.label AS holder,
       {micros q.available_at} - {micros {now}} AS available_in,
       {micros q.parked_until} - {micros {now}} AS parked_for
  FROM (SELECT available_at, id
          FROM claimstream_queue
         WHERE queue = :queue
           AND shard = :shard
           AND available_at >= {moment :from}
         ORDER BY available_at, id
         LIMIT :most) AS near
  JOIN claimstream_queue q ON q.queue = :queue AND q.shard = :shard AND q.available_at = near.available_at AND q.id = near.id
  LEFT JOIN claimstream_instance i ON i.instance = SUBSTRING(q.claim_id, 1, 8)
 WHERE near.id IN (:ids)

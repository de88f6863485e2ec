-- When the outbox message of a cancelled request is due, unless it is due already or claimed; it is not due before :from.
SELECT {micros available_at} AS due_at
  FROM claimstream_queue
 WHERE queue = :queue
   AND shard = :shard
   AND available_at >= {moment :from}
   AND available_at > {now}
   AND id = :id
   AND claim_id IS NULL
 LIMIT 1

-- Queues with messages in flight under leases of shards that hold, in how many microseconds the last of these leases ends, and in how
-- many the last claim ends that marked a message of the queue, which shard_lease never does. No lease is longer than 12 hours, so what
-- is delayed for longer is not looked at.
SELECT held.queue, held.ends_in,
       (SELECT {micros MAX(q.available_at)} - {micros {now}}
          FROM claimstream_shard s
          JOIN claimstream_queue q ON q.queue = held.queue
                                  AND q.shard = s.shard
                                  AND q.available_at > {now}
                                  AND q.available_at <= {now} + {span 43200000000}
         WHERE q.claim_id IS NOT NULL)                                            AS marked_until
  FROM (SELECT queue, {micros MAX(held_until)} - {micros {now}} AS ends_in
          FROM claimstream_lease
         WHERE in_flight > 0
           AND held_until > {now}
         GROUP BY queue) held
 ORDER BY held.queue

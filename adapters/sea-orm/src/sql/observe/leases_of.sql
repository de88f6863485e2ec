-- Leases of one queue's shards, by shard.
SELECT queue, {signed shard} AS shard, label, fence, {micros held_until} - {micros {now}} AS ends_in,
       {signed in_flight} AS in_flight
  FROM claimstream_lease
 WHERE queue = :queue
 ORDER BY claimstream_lease.shard

-- Leases of shards, by queue and shard.
SELECT queue, {signed shard} AS shard, label, fence, {micros held_until} - {micros {now}} AS ends_in,
       {signed in_flight} AS in_flight
  FROM claimstream_lease
 WHERE queue >= :queue
   AND (queue > :queue OR shard > :shard)
 ORDER BY claimstream_lease.queue, claimstream_lease.shard
 LIMIT :limit

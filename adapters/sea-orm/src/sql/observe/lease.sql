-- The lease of one shard, and what is in flight under it.
SELECT queue, {signed shard} AS shard, label, fence, {micros held_until} - {micros {now}} AS ends_in,
       {signed in_flight} AS in_flight, flights, {micros {now}} AS now
  FROM claimstream_lease
 WHERE queue = :queue
   AND shard = :shard

-- Who has the lease of a shard, and whether it has run out.
SELECT label, (held_until <= {now}) AS is_over
  FROM claimstream_lease
 WHERE queue = :queue
   AND shard = :shard

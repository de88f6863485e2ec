-- The holder of a shard's lease, and whether it has run out.
SELECT label, {signed fence} AS fence, (held_until <= {now}) AS is_over
  FROM claimstream_lease
 WHERE queue = :queue
   AND shard = :shard

-- The holder of a shard's lease, and whether it is gone and has left messages in hand: then another relay has to take them over.
SELECT label, {signed fence} AS fence, (holder IS NOT NULL AND in_flight > 0 AND held_until <= {now}) AS is_left
  FROM claimstream_lease
 WHERE queue = :queue
   AND shard = :shard

-- Reads what was in flight in a shard whose lease has run out.
SELECT flights
  FROM claimstream_lease
 WHERE queue = :queue
   AND shard = :shard
   AND fence = :fence
   AND holder <> :holder
   AND held_until <= :now

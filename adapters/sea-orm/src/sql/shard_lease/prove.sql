-- Proves that the lease of a shard is still ours, while more of it stays in flight.
UPDATE claimstream_lease
   SET in_flight = :in_flight,
       token     = :token
 WHERE queue = :queue
   AND shard = :shard
   AND fence = :fence
   AND holder = :holder

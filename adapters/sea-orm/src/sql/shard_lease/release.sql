-- Locks the lease of a shard that an operator takes from its holder, to read what is in flight: under the fence that the operator
-- was shown, and no other.
SELECT flights
  FROM claimstream_lease
 WHERE queue = :queue
   AND shard = :shard
   AND fence = :fence
   AND holder IS NOT NULL
   {for_update}

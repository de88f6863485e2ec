-- Locks the lease of a shard that has run out, to read what was in flight, or fails at once if another transaction has locked it.
SELECT flights
  FROM claimstream_lease
 WHERE queue = :queue
   AND shard = :shard
   AND fence = :fence
   AND holder <> :holder
   AND held_until <= {now}
   {for_update NOWAIT}

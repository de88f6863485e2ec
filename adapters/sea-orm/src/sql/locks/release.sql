-- Gives a lock back, if its holder still has it; the row stays, and with it the fence. Its token says so, because a clock that is set
-- back makes any moment one that is still to come.
UPDATE claimstream_lock
   SET held_until = {now},
       token      = :free
 WHERE lock_key = :key
   AND fence = :fence
   AND held_until > {now}
   AND token <> :free

-- Gives a lock back, if its holder still has it; the row stays, and with it the fence.
UPDATE claimstream_lock
   SET held_until = {now},
       token      = :token
 WHERE lock_key = :key
   AND fence = :fence
   AND held_until > {now}

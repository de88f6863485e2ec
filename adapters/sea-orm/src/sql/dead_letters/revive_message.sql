-- Stores the bodies of dead letters again, known to be as old as they are.
UPDATE claimstream_message
   SET first_at   = COALESCE(first_at, created_at),
       created_at = {now}
 WHERE id IN (:ids)

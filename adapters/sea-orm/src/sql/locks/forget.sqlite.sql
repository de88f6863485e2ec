-- Forgets locks that were not held since.
DELETE FROM claimstream_lock
 WHERE lock_key IN (SELECT lock_key FROM claimstream_lock WHERE held_until < :bound ORDER BY held_until LIMIT :limit)
   AND held_until < :bound

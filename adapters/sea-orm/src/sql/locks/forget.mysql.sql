-- Forgets locks that were not held since.
DELETE FROM claimstream_lock
 WHERE held_until < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND
 ORDER BY held_until
 LIMIT :limit

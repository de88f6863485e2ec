-- Forgets instances that have not been seen since; those that run are noted every hour.
DELETE FROM claimstream_instance
 WHERE seen_at < {moment :bound}

-- Forgets instances that have not been seen since; those that run are noted every hour.
DELETE FROM claimstream_instance
 WHERE seen_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND

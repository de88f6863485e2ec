-- Forgets old entries, some at a time.
DELETE FROM claimstream_in_app
 WHERE created_at < UTC_TIMESTAMP(6) - INTERVAL :age MICROSECOND
 ORDER BY created_at
 LIMIT :limit

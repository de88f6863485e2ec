-- Forgets old entries, some at a time.
DELETE FROM claimstream_audit
 WHERE noted_at < UTC_TIMESTAMP(6) - INTERVAL :age MICROSECOND
 ORDER BY noted_at
 LIMIT :limit

-- Forgets old entries, some at a time.
DELETE FROM claimstream_audit
 WHERE number IN (SELECT number FROM claimstream_audit WHERE noted_at < :now - :age ORDER BY noted_at LIMIT :limit)

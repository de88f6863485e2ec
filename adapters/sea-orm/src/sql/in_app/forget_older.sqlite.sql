-- Forgets old entries, some at a time.
DELETE FROM claimstream_in_app
 WHERE id IN (SELECT id FROM claimstream_in_app WHERE created_at < :now - :age ORDER BY created_at LIMIT :limit)

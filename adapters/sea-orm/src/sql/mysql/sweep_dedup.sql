-- Forgets dedup keys that are older than the sweep keeps them.
DELETE FROM claimstream_dedup
 WHERE created_at < UTC_TIMESTAMP(6) - INTERVAL :keep MICROSECOND
 ORDER BY created_at
 LIMIT :limit

-- Forgets dedup keys that are older than the sweep keeps them.
DELETE FROM claimstream_dedup
 WHERE (queue, dedup_key) IN (
       SELECT queue, dedup_key
         FROM claimstream_dedup
        WHERE created_at < :now - :keep
        ORDER BY created_at
        LIMIT :limit)

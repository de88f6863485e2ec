-- A page of bodies older than the sweep's horizon.
SELECT id
  FROM claimstream_message
 WHERE id > :after
   AND id < :horizon
   AND created_at < :now - :keep
 ORDER BY id
 LIMIT :limit

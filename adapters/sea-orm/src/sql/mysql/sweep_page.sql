-- A page of bodies older than the sweep's horizon.
SELECT id
  FROM claimstream_message
 WHERE id > :after
   AND id < :horizon
   AND created_at < UTC_TIMESTAMP(6) - INTERVAL :keep MICROSECOND
 ORDER BY id
 LIMIT :limit

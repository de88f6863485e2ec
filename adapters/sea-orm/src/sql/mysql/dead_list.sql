-- The newest dead letters that match; NULL and an empty list match everything.
SELECT id, queue, shard, ordering_key, headers, content_type, payload, attempts, reason,
       TIMESTAMPDIFF(MICROSECOND, died_at, UTC_TIMESTAMP(6)) AS dead_for
  FROM claimstream_dead
 WHERE (:queue IS NULL OR queue = :queue)
   AND (:all_ids OR id IN (:ids))
   AND died_at <= UTC_TIMESTAMP(6) - INTERVAL :dead_for MICROSECOND
 ORDER BY died_at DESC, id DESC
 LIMIT :limit

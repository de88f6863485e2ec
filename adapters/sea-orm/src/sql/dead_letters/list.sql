-- The newest dead letters that match; NULL and an empty list match everything.
SELECT id, queue, shard, ordering_key, headers, content_type, payload, attempts, reason,
       {since died_at} AS dead_for
  FROM claimstream_dead
 WHERE (:queue IS NULL OR queue = :queue)
   AND (:all_ids OR id IN (:ids))
   AND died_at <= {now} - {span :dead_for}
 ORDER BY died_at DESC, id DESC
 LIMIT :limit

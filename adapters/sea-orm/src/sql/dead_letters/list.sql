-- Some dead letters with all that they carry.
SELECT id, queue, shard, ordering_key, headers, content_type, payload, attempts, reason,
       {since died_at} AS dead_for
  FROM claimstream_dead
 WHERE id IN (:ids)

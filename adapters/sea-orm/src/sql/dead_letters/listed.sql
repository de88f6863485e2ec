-- Some dead letters without what they carry.
SELECT id, queue, attempts, reason, {micros died_at} AS died, {since died_at} AS dead_for
  FROM claimstream_dead
 WHERE id IN (:ids)

-- Some dead letters without what they carry.
SELECT d.id, d.queue, d.attempts, d.reason, {micros d.died_at} AS died, {since d.died_at} AS dead_for
  FROM claimstream_dead d
 WHERE d.id IN (:ids)
   {and_dated d}

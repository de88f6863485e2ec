-- The dead letters of a queue from a place on, newest first, without what they carry.
SELECT d.id, d.queue, d.attempts, d.reason, {micros d.died_at} AS died, {since d.died_at} AS dead_for
  FROM claimstream_dead d
 WHERE d.queue = :queue
   AND d.died_at <= {moment :bound}
   AND (d.died_at < {moment :bound} OR d.id < :after)
   {and_dated d}
   {and_whole d}
 ORDER BY d.died_at DESC, d.id DESC
 LIMIT :limit

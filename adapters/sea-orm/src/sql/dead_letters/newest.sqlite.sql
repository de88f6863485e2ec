-- The dead letters of a queue from a place on, newest first, without what they carry.
SELECT id, queue, attempts, reason, {micros died_at} AS died, {since died_at} AS dead_for
  FROM claimstream_dead
 WHERE queue = :queue
   AND died_at <= {moment :bound}
   AND (died_at < {moment :bound} OR id < :after)
 ORDER BY died_at DESC, id DESC
 LIMIT :limit

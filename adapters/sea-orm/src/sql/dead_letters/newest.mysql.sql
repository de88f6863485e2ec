-- The dead letters of a queue from a place on, newest first, without what they carry. MariaDB takes the place into the range of
-- the index only where the queue is a range too and stands in the order; with `queue = ?` it walks from the newest letter to the place.
SELECT id, queue, attempts, reason, {micros died_at} AS died, {since died_at} AS dead_for
  FROM claimstream_dead
 WHERE queue >= :queue AND queue <= :queue
   AND died_at <= {moment :bound}
   AND (died_at < {moment :bound} OR id < :after)
 ORDER BY queue DESC, died_at DESC, id DESC
 LIMIT :limit

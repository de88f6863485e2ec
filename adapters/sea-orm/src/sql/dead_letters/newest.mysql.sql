-- The dead letters of a queue from a place on, newest first, without what they carry. MariaDB takes the place into the range of
-- the index only where the queue is a range too and stands in the order; with `queue = ?` it walks from the newest letter to the place.
SELECT d.id, d.queue, d.attempts, d.reason, {micros d.died_at} AS died, {since d.died_at} AS dead_for
  FROM claimstream_dead d
 WHERE d.queue >= :queue AND d.queue <= :queue
   AND d.died_at <= {moment :bound}
   AND (d.died_at < {moment :bound} OR d.id < :after)
   {and_dated d}
 ORDER BY d.queue DESC, d.died_at DESC, d.id DESC
 LIMIT :limit

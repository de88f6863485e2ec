-- Locks those of a page that are still there and have not died again.
SELECT id
  FROM claimstream_dead
 WHERE id IN (:ids)
   AND died_at <= {moment :bound}
 ORDER BY id
   {for_update}

-- A page of the dead letters that match and died before the work on them began, by id; takes no lock.
SELECT id
  FROM claimstream_dead
 WHERE id > :after
   AND (:queue IS NULL OR queue = :queue)
   AND (:all_ids OR id IN (:ids))
   AND died_at <= {moment :bound}
 ORDER BY id
 LIMIT :limit

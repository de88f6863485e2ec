-- The oldest dead letters that match, locked.
SELECT id
  FROM claimstream_dead
 WHERE (:queue IS NULL OR queue = :queue)
   AND (:all_ids OR id IN (:ids))
   AND died_at <= :now - :dead_for
 ORDER BY died_at, id
 LIMIT :limit

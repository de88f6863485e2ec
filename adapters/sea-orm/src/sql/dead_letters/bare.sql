-- A page of dead letters without a body, by id.
SELECT d.id
  FROM claimstream_dead d
  LEFT JOIN claimstream_message m ON m.id = d.id
 WHERE d.id > :after
   AND m.id IS NULL
   {and_whole d}
 ORDER BY d.id
 LIMIT :limit

-- Dead letters whose ids belong to other messages now: the body is not theirs.
SELECT d.id
  FROM claimstream_dead d
  JOIN claimstream_message m ON m.id = d.id
 WHERE d.id IN (:ids)
   AND COALESCE(m.first_at, m.created_at) <> d.created_at

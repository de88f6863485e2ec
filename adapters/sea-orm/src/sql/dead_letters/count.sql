-- How many dead letters of a queue are old enough, at most so many; reads the index alone.
SELECT COUNT(*) AS letters
  FROM (SELECT 1 AS one
          FROM claimstream_dead
         WHERE queue = :queue
           AND died_at <= {moment :bound}
         LIMIT :most) AS some

-- How many dead letters of a queue are old enough and were given up for a reason, at most so many.
SELECT COUNT(*) AS letters
  FROM (SELECT 1 AS one
          FROM claimstream_dead
         WHERE queue = :queue
           AND died_at <= {moment :bound}
           AND reason = :reason
         LIMIT :most) AS some

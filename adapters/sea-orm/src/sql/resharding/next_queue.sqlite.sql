-- The next queue that has a message. A name that was written as bytes comes after all text, and nobody reads such a queue.
SELECT MIN(queue) AS queue
  FROM claimstream_queue
 WHERE queue > CAST(:after AS TEXT)
   AND queue < X''

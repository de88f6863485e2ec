-- The next queue that has a dedup key.
SELECT MIN(queue) AS queue
  FROM claimstream_dedup
 WHERE queue > {text :after}
   {and_text queue}

-- The next queue that has a message.
SELECT MIN(queue) AS queue
  FROM claimstream_queue
 WHERE queue > {text :after}
   {and_text queue}

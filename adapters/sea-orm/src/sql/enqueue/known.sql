-- Which of these messages have been enqueued before.
SELECT id
  FROM claimstream_message
 WHERE id IN (:ids)

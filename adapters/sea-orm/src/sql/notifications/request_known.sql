-- Which of these requests are known.
SELECT id
  FROM claimstream_notification_request
 WHERE id IN (:ids)

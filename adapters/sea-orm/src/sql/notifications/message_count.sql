-- How many messages of a request stand where.
SELECT status, COUNT(*) AS messages
  FROM claimstream_notification_message
 WHERE request_id = :id
 GROUP BY status

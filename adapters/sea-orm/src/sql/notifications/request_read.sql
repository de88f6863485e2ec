-- Reads a request.
SELECT request, status, reason
  FROM claimstream_notification_request
 WHERE id = :id

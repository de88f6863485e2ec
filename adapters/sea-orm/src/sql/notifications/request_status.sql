-- Where a request stands, and why it has failed.
SELECT status, reason
  FROM claimstream_notification_request
 WHERE id = :id

-- Reads requests.
SELECT id, request, status
  FROM claimstream_notification_request
 WHERE id IN (:ids)

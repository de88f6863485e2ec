-- Where these requests stand.
SELECT id, status
  FROM claimstream_notification_request
 WHERE id IN (:ids)

-- Where messages stand.
SELECT id, status
  FROM claimstream_notification_message
 WHERE id IN (:ids)

-- What was said of messages before.
SELECT message_id, kind
  FROM claimstream_notification_receipt
 WHERE message_id IN (:ids)

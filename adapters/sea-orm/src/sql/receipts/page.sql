-- What was said of messages.
SELECT message_id, kind, {since seen_at} AS ago, said_at
  FROM claimstream_notification_receipt
 WHERE message_id IN (:ids)

-- Locks the records of messages, so that their receipts come one after another.
SELECT id, channel, recipient
  FROM claimstream_notification_message
 WHERE id IN (:ids)
 ORDER BY id
 {for_update}

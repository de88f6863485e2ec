-- Forgets what providers said of messages.
DELETE FROM claimstream_notification_receipt
 WHERE message_id IN (:ids)

-- Deletes what providers said of messages that go.
DELETE FROM claimstream_notification_receipt
 WHERE message_id IN (:ids)

-- Deletes records of messages whose requests go.
DELETE FROM claimstream_notification_message
 WHERE id IN (:ids)

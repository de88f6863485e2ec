-- Forgets the attempts at messages.
DELETE FROM claimstream_notification_attempt
 WHERE message_id IN (:ids)

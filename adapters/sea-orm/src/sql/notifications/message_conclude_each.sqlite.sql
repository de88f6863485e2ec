-- Notes what became of messages that ended each in its own way: of pending ones, and of those that were taken back and delivered
-- all the same; one statement for all of them.
UPDATE claimstream_notification_message
   SET status = ended.column2, reason = ended.column3, reference = ended.column4, changed_at = {now}
  FROM (VALUES (:id, :status, :reason, :reference)) AS ended
 WHERE id = ended.column1
   AND (claimstream_notification_message.status = 'PENDING'
        OR (claimstream_notification_message.status = 'CANCELLED' AND ended.column2 = 'DELIVERED'))

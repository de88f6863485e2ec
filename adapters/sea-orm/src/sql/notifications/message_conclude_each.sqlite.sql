-- Notes what became of pending messages that ended each in its own way; one statement for all of them.
UPDATE claimstream_notification_message
   SET status = ended.column2, reason = ended.column3, reference = ended.column4, changed_at = {now}
  FROM (VALUES (:id, :status, :reason, :reference)) AS ended
 WHERE id = ended.column1 AND claimstream_notification_message.status = 'PENDING'

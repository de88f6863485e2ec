-- Notes what became of messages that ended each in its own way: of pending ones, a skip of those that failed too, and a delivery of all
-- that were not delivered; one statement for all of them. Nothing is said of a recipient that was erased.
UPDATE claimstream_notification_message
   SET status = ended.column2, reason = CASE recipient WHEN :erased THEN NULL ELSE ended.column3 END,
       reference = CASE recipient WHEN :erased THEN NULL ELSE ended.column4 END, changed_at = {now}
  FROM (VALUES (:id, :status, :reason, :reference)) AS ended
 WHERE id = ended.column1
   AND (claimstream_notification_message.status = 'PENDING'
        OR (claimstream_notification_message.status <> 'DELIVERED' AND ended.column2 = 'DELIVERED')
        OR (claimstream_notification_message.status = 'FAILED' AND ended.column2 = 'SKIPPED'))

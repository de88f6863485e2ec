-- Notes what became of messages that ended each in its own way: of pending ones, and of those that were taken back and delivered
-- all the same; one statement for all of them.
UPDATE claimstream_notification_message
   SET status = ELT(FIELD(id, :ids), :statuses), reason = ELT(FIELD(id, :ids), :reasons),
       reference = ELT(FIELD(id, :ids), :references), changed_at = {now}
 WHERE id IN (:ids)
   AND (status = 'PENDING' OR (status = 'CANCELLED' AND ELT(FIELD(id, :ids), :statuses) = 'DELIVERED'))

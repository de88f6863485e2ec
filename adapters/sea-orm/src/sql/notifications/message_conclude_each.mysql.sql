-- Notes what became of pending messages that ended each in its own way; one statement for all of them.
UPDATE claimstream_notification_message
   SET status = ELT(FIELD(id, :ids), :statuses), reason = ELT(FIELD(id, :ids), :reasons),
       reference = ELT(FIELD(id, :ids), :references), changed_at = {now}
 WHERE id IN (:ids) AND status = 'PENDING'

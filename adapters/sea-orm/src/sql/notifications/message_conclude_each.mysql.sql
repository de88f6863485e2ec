-- Notes what became of messages that ended each in its own way: of pending ones, a skip of those that failed too, and a delivery of all
-- that were not delivered; one statement for all of them. Nothing is said of a recipient that was erased.
UPDATE claimstream_notification_message
   SET status = ELT(FIELD(id, :ids), :statuses),
       reason = CASE recipient WHEN :erased THEN NULL ELSE ELT(FIELD(id, :ids), :reasons) END,
       reference = CASE recipient WHEN :erased THEN NULL ELSE ELT(FIELD(id, :ids), :references) END, changed_at = {now}
 WHERE id IN (:ids)
   AND (status = 'PENDING' OR (status <> 'DELIVERED' AND ELT(FIELD(id, :ids), :statuses) = 'DELIVERED')
        OR (status = 'FAILED' AND ELT(FIELD(id, :ids), :statuses) = 'SKIPPED'))

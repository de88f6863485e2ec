-- Marks requests as dispatched, those of them that are open; what earlier steps have noted as reason stays.
UPDATE claimstream_notification_request
   SET status = 'DISPATCHED', changed_at = {now}
 WHERE id IN (:ids) AND status IN ('PENDING', 'PROCESSING')

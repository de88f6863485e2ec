-- Requests of which a recipient was erased, as they are now; those who ask hold their rows.
SELECT r.id, r.request
  FROM claimstream_notification_erasure e
  JOIN claimstream_notification_request r ON r.id = e.request_id
 WHERE e.request_id IN (:ids)

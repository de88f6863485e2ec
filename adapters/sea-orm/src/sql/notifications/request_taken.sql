-- Requests as they were taken in, and the fingerprints of those that were erased since; the rows are shared with others that ask.
SELECT r.id, r.request, e.fingerprint
  FROM claimstream_notification_request r
  LEFT JOIN claimstream_notification_erasure e ON e.request_id = r.id
 WHERE r.id IN (:ids)
 {for_share}

-- The next requests, older than one of them.
SELECT r.id, r.status, {since r.created_at} AS age,
       json_extract(CAST(r.request AS TEXT), '$.requester.type') AS kind,
       json_extract(CAST(r.request AS TEXT), '$.requester.id') AS requester
  FROM claimstream_notification_request r
  JOIN claimstream_notification_request a ON a.id = :after
 WHERE r.created_at <= a.created_at
   AND (r.created_at < a.created_at OR r.id < a.id)
 ORDER BY r.created_at DESC, r.id DESC
 LIMIT :limit

-- The next requests, older than one of them.
SELECT r.id, r.status, {since r.created_at} AS age,
       JSON_UNQUOTE(JSON_EXTRACT(CONVERT(r.request USING utf8mb4), '$.requester.type')) AS kind,
       JSON_UNQUOTE(JSON_EXTRACT(CONVERT(r.request USING utf8mb4), '$.requester.id')) AS requester
  FROM claimstream_notification_request r FORCE INDEX (requests_by_age)
  JOIN claimstream_notification_request a ON a.id = :after
 WHERE r.created_at <= a.created_at
   AND (r.created_at < a.created_at OR r.id < a.id)
 ORDER BY r.created_at DESC, r.id DESC
 LIMIT :limit

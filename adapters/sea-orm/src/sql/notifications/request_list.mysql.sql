-- The newest requests.
SELECT r.id, r.status, {since r.created_at} AS age,
       JSON_UNQUOTE(JSON_EXTRACT(CONVERT(r.request USING utf8mb4), '$.requester.type')) AS kind,
       JSON_UNQUOTE(JSON_EXTRACT(CONVERT(r.request USING utf8mb4), '$.requester.id')) AS requester
  FROM claimstream_notification_request r FORCE INDEX (requests_by_age)
 ORDER BY r.created_at DESC, r.id DESC
 LIMIT :limit

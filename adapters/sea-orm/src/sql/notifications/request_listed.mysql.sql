-- One request as lists show it.
SELECT r.id, r.status, {since r.created_at} AS age,
       JSON_UNQUOTE(JSON_EXTRACT(CONVERT(r.request USING utf8mb4), '$.requester.type')) AS kind,
       JSON_UNQUOTE(JSON_EXTRACT(CONVERT(r.request USING utf8mb4), '$.requester.id')) AS requester
  FROM claimstream_notification_request r
 WHERE r.id = :id

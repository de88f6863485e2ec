-- One request as lists show it.
SELECT r.id, r.status, {since r.created_at} AS age,
       json_extract(CAST(r.request AS TEXT), '$.requester.type') AS kind,
       json_extract(CAST(r.request AS TEXT), '$.requester.id') AS requester
  FROM claimstream_notification_request r
 WHERE r.id = :id

-- How many messages of a request stand where, and of how many their providers said what. Its messages are read first, whatever the tables
-- look like.
SELECT status, NULL AS kind, COUNT(*) AS messages
  FROM claimstream_notification_message
 WHERE request_id = :id
 GROUP BY status
 UNION ALL
SELECT NULL AS status, r.kind, COUNT(*) AS messages
  FROM claimstream_notification_message m
  {then_join} claimstream_notification_receipt r {by_primary} ON r.message_id = m.id
 WHERE m.request_id = :id
 GROUP BY r.kind

-- Some records of the messages of requests that go.
SELECT id
  FROM claimstream_notification_message
 WHERE request_id IN (:ids)
 LIMIT :limit

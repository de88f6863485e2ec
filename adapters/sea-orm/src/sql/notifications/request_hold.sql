-- Locks a request that is to be cancelled.
SELECT status, request, {micros created_at} AS created_at
  FROM claimstream_notification_request
 WHERE id = :id
 {for_update}

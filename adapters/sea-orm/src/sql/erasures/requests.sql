-- Requests that records are restored of, and when they were taken in; the transaction holds their rows.
SELECT id, request, {micros created_at} AS created_at
  FROM claimstream_notification_request
 WHERE id IN (:ids)

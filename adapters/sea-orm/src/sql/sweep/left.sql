-- The bodies that are still there of messages that were finished: when they were stored, and how long ago that is.
SELECT id,
       {micros created_at} AS stored_at,
       {since created_at} AS age
  FROM claimstream_message
 WHERE id IN (:ids)

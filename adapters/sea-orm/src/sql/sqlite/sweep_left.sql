-- The bodies that are still there of messages that were finished: when they were stored, and how long ago that is.
SELECT id, created_at AS stored_at, :now - created_at AS age
  FROM claimstream_message
 WHERE id IN (:ids)

-- The payloads of messages that are erased, queued, finished or dead, and their items of digests, for the addresses in them.
SELECT payload
  FROM claimstream_message
 WHERE id IN (:ids)
UNION ALL
SELECT payload
  FROM claimstream_dead
 WHERE id IN (:ids)
UNION ALL
SELECT item
  FROM claimstream_digest_item
 WHERE id IN (:ids)

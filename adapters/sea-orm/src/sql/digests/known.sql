-- Which of these messages are items of a digest.
SELECT id
  FROM claimstream_digest_item
 WHERE id IN (:ids)

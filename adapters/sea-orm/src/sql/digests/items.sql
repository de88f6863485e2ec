-- The items of digests, as they came, and where their records stand.
SELECT i.digest_id, i.item, (SELECT m.status FROM claimstream_notification_message m WHERE m.id = i.id) AS status
  FROM claimstream_digest_item i
 WHERE i.digest_id IN (:ids)
 ORDER BY i.digest_id, i.created_at, i.id

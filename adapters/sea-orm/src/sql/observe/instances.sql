-- Instances by id.
SELECT instance, label, {since seen_at} AS seen
  FROM claimstream_instance
 WHERE instance > :after
 ORDER BY instance
 LIMIT :limit

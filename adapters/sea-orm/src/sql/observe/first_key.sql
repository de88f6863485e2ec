-- The first dedup key of a queue within a range.
SELECT MIN(dedup_key) AS dedup_key
  FROM claimstream_dedup
 WHERE queue = :queue
   AND dedup_key >= :from
   AND dedup_key < :end

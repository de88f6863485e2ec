-- The last dedup key of a queue within a range.
SELECT MAX(dedup_key) AS dedup_key
  FROM claimstream_dedup
 WHERE queue = :queue
   AND dedup_key >= :from
   AND dedup_key < :end

-- Reads bodies that were left out because they are heavy, except those that are heavier still.
SELECT id, ordering_key, headers, content_type,
       CASE WHEN {octets payload} <= :inline THEN payload END AS payload, {signed {octets payload}} AS bytes
  FROM claimstream_message
 WHERE id IN (:ids)

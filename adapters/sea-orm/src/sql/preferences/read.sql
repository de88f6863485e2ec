-- What recipients want, which of these addresses are suppressed, and the present moment.
SELECT NULL AS now, recipient_hash AS recipient, preferences, NULL AS address, NULL AS reason
  FROM claimstream_preference
 WHERE recipient_hash IN (:recipients)
UNION ALL
SELECT NULL, NULL, NULL, address_hash, reason
  FROM claimstream_suppression
 WHERE address_hash IN (:addresses)
UNION ALL
SELECT {micros {now}}, NULL, NULL, NULL, NULL

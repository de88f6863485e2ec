-- Proves that a session leads to this outbox's own database, outside a transaction: the sum is out of range if the tables were
-- made at another moment (1690), and where there are none the statement is refused (1146).
SELECT ~0 + (COUNT(*) = 0)
  FROM claimstream_schema
 WHERE capability = 'outbox'
   AND version = 1
   AND TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', applied_at) = :made_at

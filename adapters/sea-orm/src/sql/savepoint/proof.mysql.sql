-- Proves that a connection is in a transaction on this outbox's own database, and sets the savepoint; sent as text, in one
-- packet, with a number for :made_at. Outside a transaction a savepoint is gone at once, and there is no way back to it: 1305.
-- MariaDB 10.5 keeps savepoints after a deadlock, as if the next transaction had begun; it says so as long as no table has
-- been touched, and the sum is out of range: 1690. Elsewhere the tables were made at another moment: 1690 as well. And as
-- well with autocommit off, because the server then begins transactions by itself, and one that has ended looks like the next.
-- The read takes a shared lock, because a plain read would begin the caller's snapshot.
SELECT ~0 + (0 /*M!100500 OR @@in_transaction = 0 */);
SELECT ~0 + (COUNT(*) = 0 OR @@autocommit = 0)
  FROM claimstream_schema
 WHERE capability = 'outbox'
   AND version = 1
   AND TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', applied_at) = :made_at
  LOCK IN SHARE MODE;
SAVEPOINT claimstream;
ROLLBACK TO SAVEPOINT claimstream

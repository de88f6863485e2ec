-- The proof of a session that has been on this outbox's own database before: the session remembers the database and when
-- its tables were made, so no row is read. The sum is out of range where the session remembers nothing or something else, with
-- autocommit off, and on MariaDB where no transaction is open: 1690. A savepoint outside a transaction is gone at once, and
-- there is no way back to it: 1305.
SELECT ~0 + (@@autocommit = 0 /*M!100500 OR @@in_transaction = 0 */
             OR NOT COALESCE(@claimstream = CONCAT(CAST(DATABASE() AS BINARY), ' ', :made_at), 0));
SAVEPOINT claimstream;
ROLLBACK TO SAVEPOINT claimstream

-- Commits a caller's transaction that proves to be there; sent as text, in one packet. Without a transaction a savepoint is
-- gone at once, and to release it is refused: 1305, and what follows is not carried out. MariaDB 10.5 keeps savepoints
-- after a deadlock, but says until the next statement on a table that there is no transaction: 1690.
SELECT ~0 + (0 /*M!100500 OR @@in_transaction = 0 */);
SAVEPOINT claimstream;
RELEASE SAVEPOINT claimstream;
COMMIT

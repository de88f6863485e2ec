-- The proof of commit_proof for a node of Galera; COMMIT follows in a packet of its own.
SELECT ~0 + (0 /*M!100500 OR @@in_transaction = 0 */);
SAVEPOINT claimstream;
RELEASE SAVEPOINT claimstream

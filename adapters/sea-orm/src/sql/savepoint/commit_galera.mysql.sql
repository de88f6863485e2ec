-- The proof of commit for a node of Galera; COMMIT follows in a packet of its own. Another node's commit may end the transaction
-- between two statements of a packet, and then the COMMIT would be answered as a success.
RELEASE SAVEPOINT claimstream

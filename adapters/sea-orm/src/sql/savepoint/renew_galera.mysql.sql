-- The same for a node of Galera, where another node's commit may end the transaction between two statements of a packet: the last one
-- is refused then as well (1305), or what is sent next would commit by itself.
RELEASE SAVEPOINT claimstream;
SAVEPOINT claimstream;
ROLLBACK TO SAVEPOINT claimstream

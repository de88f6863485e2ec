-- The same for a member of a group: shows that there is a transaction. That it is the one that was begun, the commit shows.
SAVEPOINT claimstream;
ROLLBACK TO SAVEPOINT claimstream

-- Takes back what a failed call has written.
ROLLBACK TO SAVEPOINT claimstream

-- Has the session remember on which database it was proven to be, and when the tables of that one were made.
SET @claimstream = CONCAT(CAST(DATABASE() AS BINARY), ' ', :made_at)

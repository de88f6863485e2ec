-- Which server this one follows, if it follows one and the user may know.
SHOW REPLICA STATUS

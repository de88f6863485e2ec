-- The prepared transactions of the server.
XA RECOVER

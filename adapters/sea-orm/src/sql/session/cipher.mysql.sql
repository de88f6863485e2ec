-- How the connection is encrypted; nothing where it is not.
SHOW SESSION STATUS LIKE 'Ssl_cipher'

"""Access of clients to the server: connections, authentication, logins and limits of request bodies."""

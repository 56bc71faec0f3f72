"""Routes of the HTTP API, one module for each resource, with the models of its requests and responses."""

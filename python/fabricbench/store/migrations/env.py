"""Run by alembic: migrates over the connection that `fabricbench.store.migrate` opened."""

from alembic import context

from fabricbench.store.catalog_schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()

"""Commands about plans: `plans`, `plan` (`check`, `ports`, `schema`), `expect` and `convert`."""

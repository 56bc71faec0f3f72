"""Commands about plans: `plans`, `plan check`, `plan ports`, `expect` and `convert`."""

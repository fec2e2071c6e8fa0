"""HTTP for steps and models: one kept client, an address policy, bounded bodies."""

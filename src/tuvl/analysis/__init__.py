"""Facts about a workflow, computed from its data; used by the checks and by the compiler alike."""

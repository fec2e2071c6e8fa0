"""`kind: WorkflowTest`: scenarios of a workflow, run offline and compared with what they expect."""

"""What stands between a model's tool call and the step that serves it."""

"""The one event stream of a run: facts emitted by the engine, read by sinks."""

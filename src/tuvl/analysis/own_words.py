"""How much the engine itself says to a model, in bytes, at most. Tests hold these against what it says."""

SYSTEM = 640
"""The system prompt of a tool loop, without steering, skills and outcomes."""

SKILLS = 64
"""What stands before the skills of a completion."""

FENCE = 128
"""Around the context in the first user message."""

DELIMITERS = 96
"""Around one untrusted text, without its name, which stands there twice."""

CORRECTION = 2304
"""What asks for another answer, without the outcomes."""

REFUSAL = 2176
"""The result of a call that could not be made."""

NOTICE = 128
"""The notice to finish, where the file does not give it."""

JUDGE = 512
"""What a judge is told beside its criteria."""

COUNTS = 320
"""What the judge of a supervisor is told beside its criteria and the tools."""

COUNTED_TOOL = 32
"""How often one tool was called, without its name."""

STEER = 192
"""Around the guidance of a supervisor."""

DEFAULT_STEER = 256
"""That guidance, where the file does not give it."""

SUMMARY = 640
"""What is asked of the model that sums up."""

SUMMARY_TITLE = 128
"""What stands before a summary."""

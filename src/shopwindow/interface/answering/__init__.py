"""A Call → its answer, as a file and a client get it; what an app reads of answers."""

"""The only room that knows all rooms below: finds parts, wires them, runs agents."""

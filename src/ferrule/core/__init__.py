"""The agent loop: names of steps, with policy, cost, privacy and memory as guests."""

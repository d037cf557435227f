"""Values, errors and events: what every room speaks. Standard library only."""

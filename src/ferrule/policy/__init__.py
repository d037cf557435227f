"""What the rules mean: pure functions over frozen values. No file is opened here, nothing is run."""

"""The laws of the ports as test suites: an adapter is proven by a subclass that says how to build it."""

"""The testing kit is a product: its fakes keep the laws they are used to check."""

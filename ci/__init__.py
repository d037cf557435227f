"""Scripts and import contracts of this repository; not part of the package."""

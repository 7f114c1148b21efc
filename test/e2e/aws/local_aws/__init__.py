"""A local AWS for the deployment tests; `__main__` says what it is."""

"""The command `headrace`. `main` has the list of its commands."""

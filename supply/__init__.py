"""What Headrace is made of, and what is known against it."""

"""What the servers of applications and of SQL have in common."""

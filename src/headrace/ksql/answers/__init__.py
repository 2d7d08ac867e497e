"""What statements that only ask are answered with."""

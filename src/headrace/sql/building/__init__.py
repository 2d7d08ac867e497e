"""From steps to a topology, through the DSL."""

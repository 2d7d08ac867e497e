"""From a resolved query to the steps that compute it."""

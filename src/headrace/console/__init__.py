"""The console: the pages of an application and of a ksqlDB server, and what they are made of. There
is nothing to build and nothing to fetch from elsewhere."""

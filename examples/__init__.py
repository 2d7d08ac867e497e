"""Complete applications, each small enough to read in one go.

word_count            the smallest one
store_purchases       one stream of purchases, and six things made of it
stock_volumes         a table regrouped: the most traded shares of each industry
stock_performance     the Processor API: a state store and a punctuation
clicks_and_purchases  two streams gathered by user, with the Processor API and with `cogroup`
fraud_detection       a table join, hopping windows, and a window store asked directly
order_enrichment      a global table and a foreign-key join
click_sessions        session windows, reported once they are over

Each module has a `topology()`; its test in tests/examples shows how to test yours.
"""

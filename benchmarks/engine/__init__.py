"""Headrace against Kafka Streams itself: the same topologies, one broker, one machine, one run.

Machines are noisy and differ, so the figure that matters is the ratio. How each row is measured is
said in `measurements.py`.
"""

"""Reading a server: its page of metrics, and what grew between two readings."""

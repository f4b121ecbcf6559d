"""Before a server runs: its command line and its speculative configuration, read as vLLM 0.32 would."""

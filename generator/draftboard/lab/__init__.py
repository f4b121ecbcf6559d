"""What is tried without a GPU: simulated servers, replayed recordings, alerts that travel."""

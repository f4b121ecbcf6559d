"""What the Makefile runs beside the tests: mutation, detection times, benchmarks, the install of a real vLLM."""

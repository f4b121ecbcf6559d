# vLLM with the library that suffix decoding requires and the official image lacks. Use the tag of docker-compose.yml.
FROM vllm/vllm-openai:v0.33.0
RUN pip install --no-cache-dir arctic-inference==0.1.1

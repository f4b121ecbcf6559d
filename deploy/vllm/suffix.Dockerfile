# vLLM with the library that suffix decoding needs; its own image leaves it out. Keep the tag that docker-compose.yml names.
FROM vllm/vllm-openai:v0.33.0
RUN pip install --no-cache-dir arctic-inference==0.1.1

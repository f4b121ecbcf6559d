"""Make a model of no use and no size: a Llama with random weights, and a tokenizer that knows bytes.

Usage: .venv-vllm/bin/python tests/vllm/tiny_model.py FOLDER
Nothing is fetched, and the same seed makes the same model. Whatever it is asked, it answers gibberish; without chance
(temperature 0) it soon repeats itself, which is what ngram drafts guess.
"""

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SEED = 20
# Random weights find all tokens almost alike, so that any temperature above 0 would be pure chance. So much surer of
# itself, the model repeats itself the less the higher the temperature is, as real ones do.
CERTAINTY = 10
BEGIN, END = "<s>", "</s>"
CHAT = "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}assistant:"


def tokenizer() -> PreTrainedTokenizerFast:
    """A token for each byte, so that there is nothing to train."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    known = {token: number for number, token in enumerate([BEGIN, END, *letters])}
    bytewise = Tokenizer(models.BPE(vocab=known, merges=[]))
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    wrapped = PreTrainedTokenizerFast(tokenizer_object=bytewise, bos_token=BEGIN, eos_token=END)
    wrapped.chat_template = CHAT
    return wrapped


def model(words: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """Two layers, 1.4 million weights."""
    torch.manual_seed(SEED)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=2048,
        bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id,
    )
    made = LlamaForCausalLM(config)
    made.lm_head.weight.data *= CERTAINTY
    return made


def main() -> None:
    """Write both into the folder."""
    folder = Path(sys.argv[1])
    words = tokenizer()
    words.save_pretrained(folder)
    model(words).save_pretrained(folder)


if __name__ == "__main__":
    main()

"""Make models of no use and no size: a Llama with random weights, two drafters, and a tokenizer that knows bytes.

Usage: .venv-vllm/bin/python tests/support/tiny_model.py FOLDER
Nothing is fetched, and the same seed makes the same models. Whatever it is asked, FOLDER/target answers gibberish;
without chance (temperature 0) it soon repeats itself, which is what ngram drafts guess. FOLDER/draft is its first
layer, FOLDER/head an EAGLE head that was never trained.
"""

import copy
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SEED = 20
# Random weights find all tokens almost alike, so that any temperature above 0 would be pure chance. So much surer of
# itself, the model repeats itself the less the higher the temperature is, as real ones do.
CERTAINTY = 10
# How much the second layer adds: so little that the first alone guesses about two of three tokens.
SECOND_LAYER = 0.15
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
        max_position_embeddings=8192,
        bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id,
    )
    made = LlamaForCausalLM(config)
    made.lm_head.weight.data *= CERTAINTY
    second = made.model.layers[1]
    second.self_attn.o_proj.weight.data *= SECOND_LAYER
    second.mlp.down_proj.weight.data *= SECOND_LAYER
    return made


def one_layer(target: LlamaForCausalLM) -> LlamaForCausalLM:
    """The target without its second layer."""
    made = LlamaForCausalLM(_config_of_one_layer(target))
    weights = target.state_dict()
    made.load_state_dict({name: weights[name] for name in made.state_dict()})
    return made


def save_head(target: LlamaForCausalLM, folder: Path) -> None:
    """An EAGLE head in the names that vLLM reads, with random weights and the target's embeddings."""
    torch.manual_seed(SEED + 1)
    config = _config_of_one_layer(target)
    made = {
        name.removeprefix("model."): weights.clone()
        for name, weights in LlamaForCausalLM(config).state_dict().items()
        # An EAGLE head feeds its layer what `fc` makes, without a norm before it.
        if name.startswith("model.layers.") and "input_layernorm" not in name
    }
    made["fc.weight"] = torch.randn(config.hidden_size, 2 * config.hidden_size)
    made["embed_tokens.weight"] = target.model.embed_tokens.weight.data.clone()
    folder.mkdir(parents=True)
    save_file(made, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config.to_dict() | {"architectures": ["LlamaForCausalLM"]}))


def _config_of_one_layer(target: LlamaForCausalLM) -> LlamaConfig:
    config = copy.deepcopy(target.config)
    config.num_hidden_layers = 1
    return config


def main() -> None:
    """Write them into folders of the folder."""
    folder = Path(sys.argv[1])
    words = tokenizer()
    target = model(words)
    save_head(target, folder / "head")
    for name, made in (("target", target), ("draft", one_layer(target))):
        made.save_pretrained(folder / name)
    for name in ("target", "draft", "head"):
        words.save_pretrained(folder / name)


if __name__ == "__main__":
    main()

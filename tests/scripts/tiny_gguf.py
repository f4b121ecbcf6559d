"""Write a Llama with random weights from a fixed seed, for llama.cpp. Usage: python tiny_gguf.py FILE [NOISE]

Two layers, width 64, 512 tokens of SentencePiece's kind. NOISE is the standard deviation that is added to each weight,
as a share of its own: models of a little noise agree on most tokens.
"""

import sys
from itertools import product

import gguf  # type: ignore[import-not-found]
import numpy as np

WIDTH, HEADS, INNER, TOKENS, CONTEXT, LAYERS = 64, 4, 128, 512, 2048, 2
UNKNOWN, CONTROL, NORMAL, BYTE = 2, 3, 1, 6


def write(path: str, noise: float) -> None:
    """Write it."""
    own, added = np.random.default_rng(1), np.random.default_rng(99)

    def weights(*shape: int, scale: float = 0.08) -> np.ndarray:
        return (scale * (own.standard_normal(shape) + noise * added.standard_normal(shape))).astype(np.float32)

    model = gguf.GGUFWriter(path, "llama")
    model.add_context_length(CONTEXT)
    model.add_embedding_length(WIDTH)
    model.add_block_count(LAYERS)
    model.add_feed_forward_length(INNER)
    model.add_head_count(HEADS)
    model.add_head_count_kv(HEADS)
    model.add_rope_dimension_count(WIDTH // HEADS)
    model.add_layer_norm_rms_eps(1e-5)
    model.add_file_type(0)
    model.add_vocab_size(TOKENS)
    words = ["\u2581", *"abcdefghijklmnopqrstuvwxyz", *map("".join, product("etaoinshr", "etaoinshrdlu"))]
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    words += [f"w{number}" for number in range(TOKENS - len(special) - len(words))]
    model.add_tokenizer_model("llama")
    model.add_token_list([*special, *words])
    model.add_token_scores([0.0] * len(special) + [-float(rank) for rank in range(len(words))])
    model.add_token_types([UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256 + [NORMAL] * len(words))
    model.add_bos_token_id(1)
    model.add_eos_token_id(2)
    model.add_unk_token_id(0)
    for name in ("token_embd", "output"):
        model.add_tensor(f"{name}.weight", weights(TOKENS, WIDTH, scale=0.5))
    model.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for block in (f"blk.{layer}." for layer in range(LAYERS)):
        for name in ("attn_norm", "ffn_norm"):
            model.add_tensor(f"{block}{name}.weight", np.ones(WIDTH, np.float32))
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            model.add_tensor(f"{block}{name}.weight", weights(WIDTH, WIDTH))
        for name, shape in {"ffn_gate": (INNER, WIDTH), "ffn_up": (INNER, WIDTH), "ffn_down": (WIDTH, INNER)}.items():
            model.add_tensor(f"{block}{name}.weight", weights(*shape))
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


if __name__ == "__main__":
    write(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)

"""Writes a language model of 30,000 random weights, so that a real server has something to serve.

Argument: the path. Its words are letters, and single plain characters beside them: with all 256
byte tokens, answers would often be no valid text.
"""

import sys

import gguf
import numpy as np

WIDTH, HEADS, INNER, LAYERS, CONTEXT = 32, 4, 64, 2, 512
UNKNOWN, CONTROL, BYTE, NORMAL = 2, 3, 6, 1
TEMPLATE = "{% for m in messages %}{{ m['content'] }} {% endfor %}"


def vocabulary():
    single = [10, *range(32, 127)]
    words = ["\u2581", *"abcdefghijklmnopqrstuvwxyz"]
    tokens = [b"<unk>", b"<s>", b"</s>", *(b"<0x%02X>" % each for each in single)]
    tokens += [each.encode() for each in words]
    kinds = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * len(single), *[NORMAL] * len(words)]
    scores = [0.0] * 3 + [-1000.0] * len(single) + [-1.0] * len(words)
    return tokens, kinds, scores


def main() -> None:
    tokens, kinds, scores = vocabulary()
    made = gguf.GGUFWriter(sys.argv[1], "llama")
    made.add_name("micro-random")
    made.add_context_length(CONTEXT)
    made.add_embedding_length(WIDTH)
    made.add_block_count(LAYERS)
    made.add_feed_forward_length(INNER)
    made.add_head_count(HEADS)
    made.add_head_count_kv(HEADS)
    made.add_layer_norm_rms_eps(1e-5)
    made.add_rope_dimension_count(WIDTH // HEADS)
    made.add_vocab_size(len(tokens))
    made.add_file_type(0)
    made.add_tokenizer_model("llama")
    made.add_token_list(tokens)
    made.add_token_scores(scores)
    made.add_token_types(kinds)
    made.add_bos_token_id(1)
    made.add_eos_token_id(2)
    made.add_unk_token_id(0)
    made.add_chat_template(TEMPLATE)
    add_weights(made, len(tokens))
    made.write_header_to_file()
    made.write_kv_data_to_file()
    made.write_tensors_to_file()
    made.close()


def add_weights(made, words: int) -> None:
    rng = np.random.default_rng(0)

    def random(*shape):
        return (rng.standard_normal(shape) * 0.1).astype(np.float32)

    ones = np.ones(WIDTH, np.float32)
    made.add_tensor("token_embd.weight", random(words, WIDTH))
    made.add_tensor("output_norm.weight", ones)
    made.add_tensor("output.weight", random(words, WIDTH))
    for layer in range(LAYERS):
        place = f"blk.{layer}."
        for name in ("attn_norm", "ffn_norm"):
            made.add_tensor(f"{place}{name}.weight", ones)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            made.add_tensor(f"{place}{name}.weight", random(WIDTH, WIDTH))
        for name in ("ffn_gate", "ffn_up"):
            made.add_tensor(f"{place}{name}.weight", random(INNER, WIDTH))
        made.add_tensor(f"{place}ffn_down.weight", random(WIDTH, INNER))


main()

# SPDX-License-Identifier: MIT
"""A small Llama that has learned from Python's help texts, and its tokenizer."""
import sys
from pathlib import Path
from pydoc_data import topics

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

EXAMPLES = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(EXAMPLES))
import tune_basis  # noqa: E402


def save_byte_tokenizer(folder):
    """Saves a tokenizer with one token for each byte."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)


def write_text(path):
    """Writes prose, the texts of Python's help(), which change little from version to version; returns the path."""
    path.write_text("\n".join(text for _, text in sorted(topics.topics.items())), encoding="utf-8")
    return path


def train_llama(folder, text, length):
    """Trains on windows of `length` tokens, for a minute at most, and saves model and tokenizer; returns the model and the
    text's tokens."""
    save_byte_tokenizer(folder)
    ids = PreTrainedTokenizerFast.from_pretrained(folder)(text.read_text(), return_tensors="pt", verbose=False).input_ids[0]
    torch.manual_seed(0)
    llama = LlamaForCausalLM(LlamaConfig(
        vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=length, pad_token_id=None, bos_token_id=None, eos_token_id=None))
    optimizer = torch.optim.Adam(llama.parameters(), lr=3e-3)
    for _ in range(300):
        begins = torch.randint(len(ids) - length + 1, (1024 // length,)).tolist()
        batch = torch.stack([ids[at:at + length] for at in begins])
        optimizer.zero_grad()
        llama(batch, labels=batch).loss.backward()
        optimizer.step()
    llama.save_pretrained(folder)
    return llama, ids

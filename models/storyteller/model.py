"""The network: Qwen3's decoder written in plain PyTorch.

Parameter names are the tensor names of the GGUF file, so a checkpoint needs no renaming table.
Numerics follow Hugging Face's Qwen3ForCausalLM; check_transformers.py holds us to that.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass(frozen=True)
class Config:
    """Shape of the network. Every weight row (width, ff, heads * head_dim) is a multiple of 256,
    the block length of the K-quant types, so the file can be converted to any of them."""

    vocab: int = 4096
    layers: int = 11
    width: int = 256
    heads: int = 8
    kv_heads: int = 2
    head_dim: int = 64
    ff: int = 1024
    context: int = 2048
    rope_base: float = 10000.0
    eps: float = 1e-6


class RmsNorm(nn.Module):
    def __init__(self, width: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        x = x.float()  # the mean of squares loses too much in bf16
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


def rope_tables(config: Config):
    """Cosines and sines, [context, head_dim]; element i turns together with i + head_dim / 2."""
    half = torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim
    angles = torch.outer(torch.arange(config.context).float(), config.rope_base**-half)
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()


def rotate(x, cos, sin):
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-high, low], dim=-1) * sin


class Block(nn.Module):
    def __init__(self, config: Config, dropout: float):
        super().__init__()
        self.config, self.dropout = config, dropout
        width, head_dim = config.width, config.head_dim
        self.attn_norm = RmsNorm(width, config.eps)
        self.attn_q = nn.Linear(width, config.heads * head_dim, bias=False)
        self.attn_k = nn.Linear(width, config.kv_heads * head_dim, bias=False)
        self.attn_v = nn.Linear(width, config.kv_heads * head_dim, bias=False)
        self.attn_q_norm = RmsNorm(head_dim, config.eps)
        self.attn_k_norm = RmsNorm(head_dim, config.eps)
        self.attn_output = nn.Linear(config.heads * head_dim, width, bias=False)
        self.ffn_norm = RmsNorm(width, config.eps)
        self.ffn_gate = nn.Linear(width, config.ff, bias=False)
        self.ffn_up = nn.Linear(width, config.ff, bias=False)
        self.ffn_down = nn.Linear(config.ff, width, bias=False)

    def attention(self, x, cos, sin):
        batch, length, _ = x.shape

        def heads(y, count):  # [batch, count, length, head_dim]
            return y.view(batch, length, count, self.config.head_dim).transpose(1, 2)

        q = rotate(self.attn_q_norm(heads(self.attn_q(x), self.config.heads)), cos, sin)
        k = rotate(self.attn_k_norm(heads(self.attn_k(x), self.config.kv_heads)), cos, sin)
        v = heads(self.attn_v(x), self.config.kv_heads)
        mixed = F.scaled_dot_product_attention(
            q.to(v.dtype), k.to(v.dtype), v, is_causal=True, enable_gqa=True
        )
        return self.attn_output(mixed.transpose(1, 2).reshape(batch, length, -1))

    def feed_forward(self, x):
        return self.ffn_down(F.silu(self.ffn_gate(x)) * self.ffn_up(x))

    def forward(self, x, cos, sin):
        mixed = self.attention(self.attn_norm(x), cos, sin)
        x = x + F.dropout(mixed, self.dropout, self.training)
        fed = self.feed_forward(self.ffn_norm(x))
        return x + F.dropout(fed, self.dropout, self.training)


class Storyteller(nn.Module):
    def __init__(self, config: Config, dropout: float = 0.0):
        super().__init__()
        self.config, self.dropout = config, dropout
        self.token_embd = nn.Embedding(config.vocab, config.width)
        self.blk = nn.ModuleList(Block(config, dropout) for _ in range(config.layers))
        self.output_norm = RmsNorm(config.width, config.eps)
        cos, sin = rope_tables(config)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def init_weights(self):
        """Normal weights; what writes to the residual stream starts smaller, so that its variance
        does not grow with depth."""
        for name, weight in self.named_parameters():
            if weight.dim() < 2:
                continue
            writes_residual = name.endswith(("attn_output.weight", "ffn_down.weight"))
            std = 0.02 / (2 * self.config.layers) ** 0.5 if writes_residual else 0.02
            nn.init.normal_(weight, std=std)

    def forward(self, tokens):
        """Token ids [batch, length] to logits [batch, length, vocab]; the output matrix is the
        embedding, so the file needs no output.weight."""
        length = tokens.shape[1]
        cos, sin = self.cos[:length], self.sin[:length]
        x = F.dropout(self.token_embd(tokens), self.dropout, self.training)
        for block in self.blk:
            x = block(x, cos, sin)
        return F.linear(self.output_norm(x), self.token_embd.weight)


def count_parameters(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())

"""A tiny CLIP of our own: a model of sentence-transformers that knows colours, trained in a second and a half.

Its vectors of "red", "green" and "blue" are near to those of pictures in that colour.
"""

import json
from pathlib import Path
from typing import Any

COLOURS = {"red": (230, 20, 20), "green": (20, 200, 40), "blue": (20, 40, 230)}
_STEPS = 60  # by then each colour is nearest to its word by far
_SIDE, _PATCH = 16, 8


def write_clip(folder: Path, seed: int = 7) -> Path:
    """Write the model; another seed gives another model that knows the same."""
    import torch
    from transformers import CLIPConfig, CLIPImageProcessorPil, CLIPModel, CLIPProcessor, CLIPTokenizer

    inner = folder / "inner"
    inner.mkdir(parents=True)
    torch.manual_seed(seed)
    letters = [*map(chr, range(ord("a"), ord("z") + 1))]
    vocabulary = ["<|startoftext|>", "<|endoftext|>", *letters, *(f"{one}</w>" for one in letters)]
    (inner / "vocab.json").write_text(json.dumps({word: number for number, word in enumerate(vocabulary)}))
    (inner / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = CLIPTokenizer(str(inner / "vocab.json"), str(inner / "merges.txt"), model_max_length=16)
    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    words = {"vocab_size": len(vocabulary), "max_position_embeddings": 16, "eos_token_id": 1, "bos_token_id": 0}
    config = CLIPConfig(
        text_config=small | words | {"pad_token_id": 1},
        vision_config=small | {"image_size": _SIDE, "patch_size": _PATCH},
        projection_dim=24,
    )
    size = {"height": _SIDE, "width": _SIDE}
    pictures = CLIPImageProcessorPil(size={"shortest_edge": _SIDE}, crop_size=size)
    made: Any = CLIPProcessor  # whose types are not stated
    processor, model = made(pictures, tokenizer), CLIPModel(config)
    _train(model, processor, torch)
    model.save_pretrained(inner)
    processor.save_pretrained(inner)
    return _as_sentence_transformer(inner, folder / "clip")


def _train(model: Any, processor: Any, torch: Any) -> None:
    from PIL import Image

    shown = [Image.new("RGB", (_SIDE, _SIDE), colour) for colour in COLOURS.values()]
    batch = processor(text=[*COLOURS], images=shown, return_tensors="pt", padding=True)
    steps = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(_STEPS):
        loss = model(**batch, return_loss=True).loss
        steps.zero_grad()
        loss.backward()
        steps.step()


def _as_sentence_transformer(inner: Path, folder: Path) -> Path:
    from sentence_transformers import SentenceTransformer

    SentenceTransformer(str(inner), local_files_only=True).save_pretrained(str(folder))
    return folder

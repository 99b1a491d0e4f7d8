"""Tiny models of our own that rank: by vectors of tokens, as ColBERT, and by learned terms, as SPLADE."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

WORDS = ("automobile", "car", "fish", "harbour", "mill", "owl", "port", "repair", "the", "trout")
EXPANDED = {"car": "automobile", "automobile": "car", "trout": "fish", "port": "harbour", "harbour": "port"}
"""What the sparse model adds to a text: the other word for its own."""
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_NONE = -3.0
"""What is added to the weight of each term: a word of a text gives its terms 5.5, and the others -0.2."""


def write_sparse(folder: Path, added: Mapping[str, str] = EXPANDED) -> Path:
    """Write a SparseEncoder without layers: the terms of a text are its words and what is `added` to them."""
    import torch
    from sentence_transformers import SparseEncoder
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sparse_encoder.modules import SpladePooling
    from transformers import BertForMaskedLM

    tokenizer, config = _tokenizer(folder), _config(layers=0)
    model: Any = BertForMaskedLM(config)
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
        head = model.cls.predictions
        for scale in (model.bert.embeddings.LayerNorm.weight, head.transform.LayerNorm.weight):
            scale.fill_(1.0)
        words = model.bert.embeddings.word_embeddings.weight
        words.copy_(torch.eye(*words.shape))
        head.transform.dense.weight.copy_(torch.eye(config.hidden_size))
        head.decoder.weight = torch.nn.Parameter(torch.zeros_like(words))
        for word in WORDS:
            for term in {word, added.get(word, word)} - {"the"}:
                head.decoder.weight[tokenizer.convert_tokens_to_ids(term), tokenizer.convert_tokens_to_ids(word)] = 1.0
        head.decoder.bias.fill_(_NONE)
    inner = folder / "inner"
    model.save_pretrained(inner)
    tokenizer.save_pretrained(inner)
    made: Any = SparseEncoder
    modules = [Transformer(str(inner), transformer_task="fill-mask"), SpladePooling()]
    made(modules=modules).save_pretrained(str(folder / "sparse"))
    return folder / "sparse"


def write_multi_vector(folder: Path) -> Path:
    """Write a MultiVectorEncoder with weights by chance."""
    import torch
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
    from transformers import BertModel

    torch.manual_seed(7)
    inner = folder / "inner"
    BertModel(_config(layers=1)).save_pretrained(inner)
    _tokenizer(folder).save_pretrained(inner)
    project = Dense(32, 16, bias=False, activation_function=torch.nn.Identity(), module_input_name="token_embeddings")
    made: Any = MultiVectorEncoder
    made(modules=[Transformer(str(inner)), project, MultiVectorMask()]).save_pretrained(str(folder / "multi"))
    return folder / "multi"


def _tokenizer(folder: Path) -> Any:
    """Return a tokenizer that knows `WORDS` and cuts at spaces and signs."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = {word: number for number, word in enumerate((*_SPECIAL, *WORDS))}
    cut = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    cut.normalizer = normalizers.Lowercase()
    cut.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    cut.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    folder.mkdir(parents=True, exist_ok=True)
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), _SPECIAL, strict=True))
    made: Any = PreTrainedTokenizerFast
    return made(tokenizer_object=cut, model_max_length=64, **names)


def _config(layers: int) -> Any:
    from transformers import BertConfig

    small: dict[str, Any] = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": layers,
        "num_attention_heads": 2,
    }
    return BertConfig(
        vocab_size=len(_SPECIAL) + len(WORDS), max_position_embeddings=64, tie_word_embeddings=False, **small
    )

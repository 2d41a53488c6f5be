"""Tiny models with random weights, saved as Hugging Face saves them."""

import warnings

import torch

SMALL = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "image_size": 32,
    "patch_size": 8,
}  # fmt: skip
TEXT = {
    "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 64,
    "projection_dim": 8, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip
SQUARE = {"size": {"height": 32, "width": 32}}
CROPPED = {"size": {"shortest_edge": 40}, "crop_size": {"height": 32, "width": 32}}
CONVNEXT = {"size": {"shortest_edge": 32}, "crop_pct": 0.875}

MODELS = {
    "vit": ("ViTModel", "ViTConfig", SMALL, "ViTImageProcessorPil", SQUARE),
    "dinov2": ("Dinov2Model", "Dinov2Config", SMALL, "BitImageProcessorPil", CROPPED),
    "clip-vision": ("CLIPVisionModel", "CLIPVisionConfig", SMALL, "CLIPImageProcessorPil", CROPPED),
    "clip": (
        "CLIPModel", "CLIPConfig", {"vision_config": SMALL, "text_config": TEXT, "projection_dim": 8},
        "CLIPImageProcessorPil", CROPPED,
    ),
    "siglip-vision": ("SiglipVisionModel", "SiglipVisionConfig", SMALL, "SiglipImageProcessorPil", SQUARE),
    "siglip": (
        "SiglipModel", "SiglipConfig", {"vision_config": SMALL, "text_config": TEXT}, "SiglipImageProcessorPil", SQUARE,
    ),
    "convnext": (
        "ConvNextModel", "ConvNextConfig", {"hidden_sizes": [8, 8, 8, 12], "depths": [1, 1, 1, 1]},
        "ConvNextImageProcessorPil", CONVNEXT,
    ),
    "resnet": (
        "ResNetModel", "ResNetConfig", {"embedding_size": 8, "hidden_sizes": [8, 12], "depths": [1, 1]},
        "ConvNextImageProcessorPil", CONVNEXT,
    ),
    "vit-mae": (
        "ViTMAEModel", "ViTMAEConfig",
        SMALL | {"decoder_hidden_size": 16, "decoder_num_hidden_layers": 1, "decoder_num_attention_heads": 2},
        "ViTImageProcessorPil", SQUARE,
    ),
    "odd-processor": (
        "ViTModel", "ViTConfig", SMALL, "LevitImageProcessorPil",
        {"size": {"shortest_edge": 28}, "crop_size": {"height": 32, "width": 32}},
    ),
}  # fmt: skip
"""Names in transformers of the model, its config and its processor, with their settings."""


def save_model(name, folder, seed=0, **options):
    """Save the model and the processor of this name into a folder; return the model."""
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    model, config, settings, processor, its_settings = MODELS[name]
    with torch.random.fork_rng(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        made = getattr(transformers, model)(getattr(transformers, config)(**settings), **options).eval()
        made.save_pretrained(folder)
    getattr(transformers, processor)(**its_settings).save_pretrained(folder)
    return made

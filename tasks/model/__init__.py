"""A language model behind a small interface: prompts in, text and usage out, each prompt paid for once."""

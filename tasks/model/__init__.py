"""A language model behind one small interface: prompts in, text and usage out, each prompt paid for once."""

"""A language model behind one small interface: parts of a prompt in, text and usage out, each content paid for once."""

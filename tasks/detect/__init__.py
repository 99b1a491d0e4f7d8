"""Detection: what a document and each region of it is, with score, runner-up and evidence, and no model."""

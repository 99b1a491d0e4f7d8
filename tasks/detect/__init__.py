"""Detection: the content type of a document and its regions, with score, runner-up and evidence; no model is used."""

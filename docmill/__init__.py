"""Docmill: a data-pipeline DAG for document ingestion."""

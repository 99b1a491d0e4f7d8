"""Evaluation: questions with their answers, measures of the rankings that a search gives, and whether two differ."""

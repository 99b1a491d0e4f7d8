"""Evaluation: questions with answers, measures of rankings and chunks, and tests of significance."""

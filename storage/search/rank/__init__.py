"""Rank: turn a query into hits that explain their scores, in steps over candidates."""

"""Sentences: split texts into sentences and other units, and find quotations in them."""

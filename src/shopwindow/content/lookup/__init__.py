"""Answers about checked documents: who sets a value, who names a document, what happens when."""

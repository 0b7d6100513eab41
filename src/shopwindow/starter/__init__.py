"""How a content repository begins: content to start from, the files around it, new
documents.
"""

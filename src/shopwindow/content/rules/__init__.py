"""What no schema can state: the rules that hold between documents, and a page for each."""

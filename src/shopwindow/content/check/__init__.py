"""A content folder → its checked documents, or every problem in it."""

"""What tests share: the doors of the program, content, and what really runs beside it."""

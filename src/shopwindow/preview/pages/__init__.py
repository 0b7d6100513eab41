"""The pages, a module for each: a function from Visit to Page."""

"""All records together: checked in one pass that writes their rows, and summed anew by each build."""
